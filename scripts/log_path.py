#!/usr/bin/python3
"""The log's path to this machine's disk, with every core busy.

  durable   workloads x workers x schemes: throughput, commit latency, share of no log
  fio       the log's MB/s beside fio's, at the same size and depth in the same minute
  load      latency against offered load, open loop
  each      each mechanism switched off alone

With --before=BINARY, `durable` runs another revision of logjam as well. A run in which other
programs took more than 3 % of the cores is thrown away and repeated. The machine should be idle.
"""

import json
import os
import statistics
import subprocess

from experiment import common_arguments, median, ratio, run_experiments, table

WORKLOADS = {
    "tpcc": ["--workload=tpcc", "--tpcc_warehouses=2"],
    "ycsb-a": ["--workload=ycsb", "--ycsb_workload=A"],
    "tpcb": ["--workload=tpcb"],
}
SCHEMES = ["centr-faa", "eleda", "poplar", "silo", "pwal"]
DURABLE = ["--device=file", "--log_prealloc_mb=4096", "--noverify"]


def figures(rows):
    """Medians of throughput, commit latencies and bandwidth, and the spread of the throughput."""
    rates = [float(row["tps"]) for row in rows]
    latencies = [median(rows, f"commit_{p}_us") / 1000 for p in ("p50", "p99", "p999")]
    spread = f"{min(rates) / 1000:.0f}-{max(rates) / 1000:.0f}"
    return [f"{statistics.median(rates) / 1000:.1f}", spread,
            *[f"{ms:.3f}" for ms in latencies], f"{median(rows, 'log_mb_s'):.0f}",
            f"{median(rows, 'cpu_pct'):.0f}"]


FIGURES = ["ktps", "spread", "p50 ms", "p99 ms", "p99.9 ms", "MB/s", "cpu %"]


def in_turn(bench, ways, rounds):
    """`ways` maps names to (binary, flags). As Bench.interleave, but each run is alone, and the
    log files of one binary are not those of another."""
    rows = {name: [] for name in ways}
    ours, directory = bench.logjam, bench.wal_dir
    for _ in range(rounds):
        for name, (binary, flags) in ways.items():
            bench.logjam = binary
            bench.wal_dir = os.path.join(directory, "ours" if binary == ours else "other")
            os.makedirs(bench.wal_dir, exist_ok=True)
            rows[name].append(bench.run_alone(flags))
    bench.logjam, bench.wal_dir = ours, directory
    return rows


def thrown_away(bench):
    print(f"{bench.thrown_away} runs were thrown away because others used the cores\n", flush=True)


def durable(bench, args, common):
    binaries = {"now": bench.logjam}
    if args.before:
        binaries = {"before": args.before, **binaries}
    for workload in args.workloads.split(","):
        for threads in args.threads.split(","):
            flags = [*common, *WORKLOADS[workload], *DURABLE, f"--threads={threads}"]
            ways = {("none", when): (binary, [*flags, "--log=none"])
                    for when, binary in binaries.items()}
            ways.update({(log, when): (binary, [*flags, f"--log={log}"])
                         for log in args.schemes.split(",") for when, binary in binaries.items()})
            rows = in_turn(bench, ways, args.rounds)
            print(f"{workload}, {threads} worker(s)")
            table(["log", "when", *FIGURES, "of none"],
                  [[*way, *figures(r), f"{ratio(r, rows['none', way[1]]):.2f}"]
                   for way, r in rows.items()])
    thrown_away(bench)


def fio_mb_s(directory, kib, depth, seconds):
    """What fio writes in MB/s: synced overwrites of a file of 1 GiB, as the log does."""
    line = ["fio", "--name=log", f"--filename={directory}/fio", "--size=1G", "--direct=1",
            "--sync=dsync", "--ioengine=io_uring", "--rw=write", f"--bs={kib}k",
            f"--iodepth={depth}", "--time_based", f"--runtime={seconds}", "--output-format=json"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["jobs"][0]["write"]["bw_bytes"] / 1e6


def fio(bench, args, _):
    # The log-insert benchmark fills the log as fast as the buffer takes it.
    lines = {}
    for _ in range(args.rounds):
        for kib, depth in ((64, 1), (64, 4), (512, 1), (512, 4)):
            theirs = fio_mb_s(bench.wal_dir, kib, depth, args.seconds)
            row = bench.run(["--log=eleda", "--device=file", f"--io_unit_bytes={kib << 10}",
                             f"--io_depth={depth}", "--threads=1", "--record_bytes=4096",
                             "--flush_gap_us=0", "--log_prealloc_mb=4096",
                             f"--seconds={args.seconds}"], "micro")
            ours = float(row["mb_s"])
            lines.setdefault((kib, depth), []).append((ours, theirs, ours / theirs))
    os.remove(os.path.join(bench.wal_dir, "fio"))
    table(["KiB", "depth", "logjam MB/s", "fio MB/s", "ratio"],
          [[*point, *[f"{statistics.median(column):{form}}"
                      for column, form in zip(zip(*values), (".0f", ".0f", ".2f"))]]
           for point, values in lines.items()])


def load(bench, args, common):
    for log in args.load_schemes.split(","):
        flags = [*common, *WORKLOADS["tpcc"], *DURABLE, "--threads=2", f"--log={log}"]
        capacity = median([bench.run_alone(flags) for _ in range(args.rounds)], "tps")
        shares = [10, 20, 40, 60, 80, 90, 100]
        rows = in_turn(bench, {share: (bench.logjam, [*flags, f"--rate={capacity * share / 100}"])
                               for share in shares}, args.rounds)
        print(f"{log}: capacity {capacity:.0f} transactions a second")
        table(["offered %", *FIGURES], [[share, *figures(r)] for share, r in rows.items()])
    thrown_away(bench)


EACH = {
    "all on": [],
    "workers in the normal class": ["--worker_class=normal"],
    "one write under way": ["--io_depth=1"],
    "no gap between writes": ["--flush_gap_us=0"],
    "the file is not preallocated far": ["--log_prealloc_mb=64"],
}


def each(bench, args, common):
    flags = [*common, *WORKLOADS["tpcc"], *DURABLE, "--threads=2", "--log=centr-faa"]
    ways = {name: (bench.logjam, [*flags, *off]) for name, off in EACH.items()}
    if args.before:
        ways["before"] = (args.before, flags)
    rows = in_turn(bench, ways, args.rounds)
    table(["switched off", *FIGURES], [[name, *figures(r)] for name, r in rows.items()])
    thrown_away(bench)


def main():
    parser = common_arguments(__doc__, wal_dir="/var/tmp", rounds=5, seconds=2)
    parser.add_argument("--before", help="another logjam binary")
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--schemes", default=",".join(SCHEMES))
    parser.add_argument("--load_schemes", default="centr-faa,eleda,poplar")
    run_experiments(parser, {"durable": durable, "fio": fio, "load": load, "each": each})


if __name__ == "__main__":
    main()
