#!/usr/bin/python3
"""The demo: the cost of a durable commit on this machine's disk, and recovery after a kill -9.

Runs concurrency control x {no log, centr} x commit policy on YCSB-A and on TPC-C's NewOrder and
Payment, then every log scheme on YCSB-A. Prints tables, and writes CSVs and figures. Then kills a
running ledger workload with SIGKILL, recovers its log, and verifies the database. `make demo` calls
this script, which takes about two minutes.
"""

import argparse
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

import demo_schemes
from experiment import schemes

PROTOCOLS = ["occ", "2pl-nowait", "2pl-waitdie"]
# The workloads are small, so that they load fast.
WORKLOADS = {
    "ycsb": ("YCSB-A", ["--ycsb_workload=A", "--ycsb_records=200000"]),
    "tpcc": ("NewOrder, Payment", ["--tpcc_warehouses=1", "--tpcc_mix=np"]),
}
# (log, commit): label, explanation, colour, hatch. The colours are Okabe and Ito's, which
# colour-blind readers can distinguish. Without a log nothing becomes durable, so the commit policy
# makes no difference, and one run is enough.
VARIANTS = {
    ("none", "pipelined"): ("no durability", "", "#9a9a9a", ""),
    ("centr", "sync"): ("sync", "each commit waits", "#0072B2", ""),
    ("centr", "pipelined"): ("pipelined", "acknowledged once durable", "#009E73", ""),
    ("centr", "async"): ("async-UNSAFE", "acknowledged before durable", "#E69F00", "///"),
}


class Failed(Exception):
    """The demo cannot continue; the message is the reason, in one sentence."""


def run(command):
    """Runs logjam. Returns its output, which is printed only if the command fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode != 0:
        sys.stderr.write(done.stdout)
        raise Failed(f"exit status {done.returncode} from: {' '.join(command)}")
    return done.stdout


def policy(row):
    return VARIANTS[(row["log"], row["commit"])][0]


def duration(us, digits=3, micro="us"):
    value, unit = (us / 1e6, "s") if us >= 1e6 else (us / 1e3, "ms") if us >= 1e3 else (us, micro)
    # Rounded to significant digits, but never in the 1e+03 notation.
    return f"{float(f'{value:.{digits}g}'):g} {unit}"


COLUMNS = [
    ("workload", 17, lambda r: WORKLOADS[r["workload"]][0]),
    ("cc", 11, lambda r: r["cc"]),
    ("log", 5, lambda r: r["log"]),
    ("commit", 13, policy),
    ("txn/s", 10, lambda r: f"{r['tps']:,.0f}"),
    ("aborts %", 8, lambda r: f"{r['abort_pct']:.2f}"),
    ("commit p50", 10, lambda r: duration(r["commit_p50_us"])),
    ("commit p99", 10, lambda r: duration(r["commit_p99_us"])),
    ("log MB/s", 8, lambda r: f"{r['log_mb_s']:.1f}"),
    ("", 6, lambda r: "UNSAFE" if r["unsafe"] else ""),
]
LEFT = 4  # so many columns are text, aligned to the left
KEY = ["workload", "cc", "log", "commit"]


def print_line(cells):
    aligned = [f"{cell:{'<' if i < LEFT else '>'}{width}}"
               for i, (cell, (_, width, _)) in enumerate(zip(cells, COLUMNS))]
    print("  ".join(aligned).rstrip(), flush=True)


def measure(options, wal_dir, csv):
    """Runs all combinations, round by round, so that a slow phase of the machine affects all of
    them alike. Returns the best row of each combination, since other processes can only make a run
    slower, and the mean number of other threads that were ready to run."""
    combinations = [(workload, cc, log, commit) for workload in WORKLOADS for cc in PROTOCOLS
                    for log, commit in VARIANTS]
    print(f"{len(combinations)} combinations, {options.seconds:g} s each, {options.rounds} times",
          flush=True)
    others = []
    start = time.monotonic()
    for done in range(options.rounds):
        # A slow machine runs fewer rounds.
        if done > 0 and (time.monotonic() - start) * (done + 1) / done > options.budget:
            options.rounds = done
            break
        for workload, cc, log, commit in combinations:
            if sys.stderr.isatty():
                sys.stderr.write(f"\r\033[Kround {done + 1}: {workload} {cc} {log} {commit}")
            running = pathlib.Path("/proc/loadavg").read_text(encoding="ascii").split()[3]
            others.append(int(running.split("/")[0]) - 1)  # without this script
            run([options.logjam, "run", f"--workload={workload}", f"--cc={cc}", f"--log={log}",
                 f"--commit={commit}", f"--threads={options.threads}", "--device=file",
                 f"--seconds={options.seconds}", f"--warmup={options.warmup}",
                 f"--wal_dir={wal_dir}", "--overwrite", f"--csv={csv}", *WORKLOADS[workload][1]])
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
    rows = pd.read_csv(csv)
    rows["unsafe"] = rows["unsafe"].fillna("")
    chosen = best(rows)
    print_line([name for name, _, _ in COLUMNS])
    for combination in combinations:
        print_line([cell(chosen.loc[combination]) for _, _, cell in COLUMNS])
    return chosen, sum(others) / len(others)


def best(rows):
    chosen = rows.loc[rows.groupby(KEY)["tps"].idxmax()]
    return chosen.set_index(KEY, drop=False)


def share(values):
    """A range of percentages in words: "87-95 %"."""
    low, high = (f"{v:.0f}" if v >= 9.95 else f"{v:.1f}" for v in (min(values), max(values)))
    return f"{low} %" if low == high else f"{low}-{high} %"


def headline(rows):
    """The result that the bars show, in one sentence with the numbers of this run."""
    tps = rows["tps"]

    def against_none(commit):
        return [100 * tps[w, c, "centr", commit] / tps[w, c, "none", "pipelined"]
                for w in WORKLOADS for c in PROTOCOLS]

    return (f"Of the throughput without a log, durable commits keep {share(against_none('sync'))} "
            f"if each is waited for, {share(against_none('pipelined'))} if pipelined")


def short(tps):
    if tps < 999.5:
        return f"{tps:.0f}"
    if tps >= 1e6:
        return f"{tps / 1e6:.2f}M"
    return f"{tps / 1e3:.0f}k" if tps >= 99.5e3 else f"{tps / 1e3:.1f}k"


def plot(rows, options, busy, path):
    plt.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False,
                         "axes.edgecolor": "#666666", "hatch.linewidth": 1.2,
                         "xtick.major.size": 0, "axes.axisbelow": True})
    figure, axes = plt.subplots(2, len(WORKLOADS), figsize=(12.8, 7.2), sharex=True,
                                gridspec_kw={"height_ratios": [1.75, 1]})
    width = 0.8 / len(VARIANTS)
    for column, (workload, (title, _)) in enumerate(WORKLOADS.items()):
        bars, latency = axes[0][column], axes[1][column]
        for v, ((log, commit), (_, _, colour, hatch)) in enumerate(VARIANTS.items()):
            for c, cc in enumerate(PROTOCOLS):
                row = rows.loc[(workload, cc, log, commit)]
                x = c + (v - (len(VARIANTS) - 1) / 2) * width
                bars.bar(x, row.tps, width * 0.92, color="white" if hatch else colour,
                         edgecolor=colour, hatch=hatch, linewidth=1.2)
                bars.annotate(short(row.tps), (x, row.tps), (0, 3), textcoords="offset points",
                              ha="center", fontsize=8.5, color="#333333")
                durable = log != "none" and not row.unsafe
                face = colour if durable else "white"
                latency.plot([x, x], [row.commit_p50_us, row.commit_p99_us], color=colour, lw=2,
                             zorder=2)
                latency.plot(x, row.commit_p50_us, "_", color=colour, ms=10, mew=2, zorder=3)
                latency.plot(x, row.commit_p99_us, "D", color=colour, mfc=face, ms=7, mew=1.6,
                             zorder=3)
                # Neighbours often have equal latencies, so their labels are moved apart.
                lean = {"sync": ("right", 8), "pipelined": ("left", -8)}.get(commit, ("center", 0))
                if log == "none":
                    lean = ("center", 0)
                latency.annotate(duration(row.commit_p99_us, 2, "µs"), (x, row.commit_p99_us),
                                 (lean[1], 7), textcoords="offset points", ha=lean[0], fontsize=8,
                                 color="#333333")
        bars.set_title(title, fontsize=13, fontweight="bold", loc="left")
        bars.yaxis.set_major_formatter(FuncFormatter(
            lambda value, _: f"{value / 1e3:,.0f}k" if value else "0"))
        latency.set_yscale("log")
        latency.yaxis.set_major_locator(LogLocator(numticks=12))
        latency.yaxis.set_minor_locator(NullLocator())
        latency.yaxis.set_major_formatter(FuncFormatter(
            lambda value, _: duration(value, 2, "µs")))
        for axis in (bars, latency):
            axis.grid(axis="y", color="#e4e4e4", lw=0.8)
        latency.set_xticks(range(len(PROTOCOLS)), PROTOCOLS, fontsize=11.5)
    low, high = zip(*(axis.get_ylim() for axis in axes[1]))
    for axis in axes[1]:
        axis.set_ylim(min(low), max(high) * 4)  # room for the labels
    axes[0][0].set_ylabel("acknowledged\ntransactions per second")
    axes[1][0].set_ylabel("commit latency\n(p50 to p99, log scale)")

    bars = [Patch(facecolor="white" if hatch else colour, edgecolor=colour, hatch=hatch,
                  label=f"{label}: {what}" if what else label)
            for label, what, colour, hatch in VARIANTS.values()]
    marks = [Line2D([], [], color="#444444", marker="D", ls="", ms=7, label="p99, durable"),
             Line2D([], [], color="#444444", marker="D", mfc="white", mew=1.6, ls="", ms=7,
                    label="p99, not durable")]
    for handles, corner, x, y in ((bars, "upper left", 0.088, 0.91),
                                  (marks, "upper right", 0.993, 0.985)):
        figure.legend(handles=handles, loc=corner, bbox_to_anchor=(x, y), ncol=len(handles),
                      frameon=False, fontsize=10.5, columnspacing=1.8, handletextpad=0.5)
    figure.text(0.093, 0.95, "What a durable commit costs", fontsize=19, fontweight="bold")
    figure.text(0.093, 0.913, headline(rows) + ".", fontsize=12, color="#333333")
    last = rows.iloc[-1]
    figure.text(0.093, 0.018, f"{last.machine}; {options.threads} workers, one log (centr) written "
                f"with O_DIRECT and synced, best of {options.rounds} x "
                f"{options.seconds:g} s; logjam {last.revision}{'; ' + busy if busy else ''}",
                fontsize=8.5, color="#666666")
    figure.subplots_adjust(left=0.093, right=0.985, top=0.815, bottom=0.095, hspace=0.1,
                           wspace=0.14)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def kill_and_recover(options, wal_dir, history):
    """Kills the ledger workload while it commits. Recovery must prove that nothing is lost."""
    command = [options.logjam, "run", "--workload=ledger", "--cc=occ", "--log=centr",
               "--commit=pipelined", f"--threads={options.threads}", "--device=file",
               "--seconds=60", "--warmup=0", f"--wal_dir={wal_dir}", "--overwrite",
               f"--history={history}"]
    print("\nkill -9 while it commits:\n  " + " ".join(command), flush=True)
    output = history.with_suffix(".out")
    with open(output, "w", encoding="utf-8") as out:
        with subprocess.Popen(command, stdout=out, stderr=out) as ledger:
            try:
                wait = 2 + random.random()
                ledger.wait(timeout=wait)
                sys.stderr.write(output.read_text(encoding="utf-8"))
                raise Failed("the ledger run ended before it could be killed")
            except subprocess.TimeoutExpired:
                pass
            finally:
                ledger.send_signal(signal.SIGKILL)
    print(f"  killed after {wait:.1f} s")
    command = [options.logjam, "recover", f"--wal_dir={wal_dir}", f"--history={history}",
               "--verify"]
    print("recover and verify:\n  " + " ".join(command), flush=True)
    recovered = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               check=False)
    print("".join(f"  {line}\n" for line in recovered.stdout.splitlines()), end="")
    if recovered.returncode != 0:
        raise Failed(f"recovery after kill -9 did not prove out (exit {recovered.returncode})")
    count = re.search(r"^recovered +(\d+) transactions", recovered.stdout, re.MULTILINE)
    if count is None or int(count.group(1)) == 0:
        raise Failed("recovery after kill -9 found no transaction, which proves nothing")
    print(f"verdict: killed with SIGKILL, {int(count.group(1)):,} transactions recovered, proved: "
          "nothing acknowledged was lost")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logjam", default="build/logjam", help="the binary")
    parser.add_argument("--out", default="results/demo", help="where CSVs and the figure go")
    parser.add_argument("--threads", type=int, default=max(2, min(os.cpu_count() or 2, 8)))
    parser.add_argument("--seconds", type=float, default=1, help="measured in each run")
    parser.add_argument("--rounds", type=int, default=2, help="of all runs; the best counts")
    parser.add_argument("--budget", type=float, default=60, help="seconds for all of these runs")
    parser.add_argument("--scheme_seconds", type=float, default=0.5, help="of each scheme's runs")
    parser.add_argument("--scheme_budget", type=float, default=45, help="seconds for all of them")
    parser.add_argument("--warmup", type=float, default=0.3)
    options = parser.parse_args()

    start = time.monotonic()
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    csv, figure = out / "runs.csv", out / "demo.png"
    csv.unlink(missing_ok=True)  # the file of an earlier demo
    # The log must be on the same disk as the project; /tmp may be on another one.
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="log-", dir=out))
    try:
        rows, others = measure(options, scratch, csv)
        busy = f"busy machine: {others:.1f} other threads wanted a core" if others > 0.5 else ""
        rows[[*KEY, "unsafe", "tps", "abort_pct", "commit_p50_us", "commit_p99_us",
              "log_mb_s"]].to_csv(out / "summary.csv", index=False)
        plot(rows, options, busy, figure)
        print(f"\n{headline(rows)}." + (f" ({busy[0].upper() + busy[1:]}.)" if busy else ""))
        listed, scheme_csv = schemes(options.logjam), out / "schemes.csv"
        scheme_csv.unlink(missing_ok=True)
        compared = demo_schemes.compare(options, listed, run, scratch, scheme_csv)
        demo_schemes.plot(compared, listed, options, out / "schemes.png")
        kill_and_recover(options, scratch, scratch / "ledger.history")
        print(f"\n{figure}, {out / 'schemes.png'} and their CSVs written; "
              f"{time.monotonic() - start:.0f} s")
    except (Failed, OSError) as problem:
        print(f"demo: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


if __name__ == "__main__":
    # A demo that is terminated by SIGTERM still removes its files.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
