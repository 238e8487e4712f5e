"""The second half of the demo: every scheme that `logjam list schemes` prints, on this machine's
disk, with one workload, under the commit policies sync and pipelined."""

import time

import matplotlib.pyplot as plt
import pandas as pd

WORKLOAD = ("YCSB-A, occ",
            ["--workload=ycsb", "--ycsb_workload=A", "--ycsb_records=200000", "--cc=occ"])
# Silo acknowledges all transactions of an epoch of 40 ms at once. The default pipeline depth of
# 4096 transactions per worker would limit its throughput before the log does.
DEEP = {"silo": 65536}
COMMITS = {"sync": "#0072B2", "pipelined": "#009E73"}


def compare(options, listed, run, wal_dir, csv):
    """Measures and prints. Returns a row for each scheme and commit policy. `listed` maps schemes
    to the device that each needs, or "" if it runs on any device."""
    ways = [(log, commit) for log in listed for commit in COMMITS]
    print(f"\n{len(listed)} log schemes, {WORKLOAD[0]}, {options.scheme_seconds:g} s each",
          flush=True)
    start = time.monotonic()
    for done in range(options.rounds):
        if done > 0 and (time.monotonic() - start) * (done + 1) / done > options.scheme_budget:
            break
        for log, commit in ways:
            run([options.logjam, "run", *WORKLOAD[1], f"--log={log}", f"--commit={commit}",
                 f"--threads={options.threads}", f"--device={listed[log] or 'file'}",
                 f"--seconds={options.scheme_seconds}", "--warmup=0.2", f"--wal_dir={wal_dir}",
                 "--overwrite", f"--csv={csv}",
                 *([f"--pipeline_depth={DEEP[log]}"] if log in DEEP else [])])
    rows = pd.read_csv(csv)
    rows = rows.loc[rows.groupby(["log", "commit"])["tps"].idxmax()].set_index(["log", "commit"])
    print(f"{'log':18}{'device':8}" + "".join(
        f"{commit + ' txn/s':>17}{'p50 us':>10}{'p99 us':>10}" for commit in COMMITS))
    for log in listed:
        line = f"{log:18}{listed[log] or 'file':8}"
        for commit in COMMITS:
            row = rows.loc[(log, commit)]
            line += f"{row.tps:>17,.0f}{row.commit_p50_us:>10,.0f}{row.commit_p99_us:>10,.0f}"
        print(line)
    for log, depth in DEEP.items():
        if log in listed:
            print(f"{log}: up to {depth:,} transactions of each worker in flight, the others 4,096")
    return rows


def plot(rows, listed, options, path):
    figure, (rates, latency) = plt.subplots(1, 2, figsize=(12.8, 0.8 + 0.42 * len(listed)),
                                           sharey=True)
    names = list(listed)[::-1]
    for i, (commit, colour) in enumerate(COMMITS.items()):
        own = rows.xs(commit, level="commit").loc[names]
        places = [place + (0.5 - i) * 0.38 for place in range(len(names))]
        rates.plot(own.tps, places, "o", color=colour, ms=7, label=commit)
        latency.hlines(places, own.commit_p50_us, own.commit_p99_us, color=colour, lw=3)
        latency.plot(own.commit_p99_us, places, "D", color=colour, ms=5)
    rates.set_yticks(range(len(names)), [
        f"{name} ({listed[name]})" if listed[name] else name for name in names])
    for axis, label in ((rates, "acknowledged transactions per second"),
                        (latency, "commit latency, us (p50 to p99)")):
        axis.set_xscale("log")
        axis.set_xlabel(label)
        axis.grid(color="#e4e4e4", lw=0.8)
        axis.set_axisbelow(True)
    figure.legend(*rates.get_legend_handles_labels(), frameon=False, ncol=2, loc="upper right")
    figure.suptitle(f"Log schemes on this disk: {WORKLOAD[0]}, {options.threads} workers",
                    fontsize=13, fontweight="bold", x=0.02, ha="left")
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    plt.close(figure)
