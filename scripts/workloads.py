#!/usr/bin/python3
"""Three experiments with the workloads: every workload under every protocol and some log schemes;
the transaction mixes of a million transactions beside those of the specifications; and the ways in
which two-phase locking treats deadlocks, compared on skewed YCSB.
"""

import re
import subprocess

from experiment import common_arguments, median, ratio, run_experiments, table

WORKLOADS = {
    "ycsb A": ["--workload=ycsb", "--ycsb_workload=A", "--ycsb_records=200000"],
    "ycsb rows-16": ["--workload=ycsb", "--ycsb_workload=rows-16", "--ycsb_records=200000"],
    "tpcb": ["--workload=tpcb", "--tpcb_branches=4"],
    "tpcc": ["--workload=tpcc", "--tpcc_warehouses=2"],
    "tatp": ["--workload=tatp", "--tatp_subscribers=100000"],
    "oltp": ["--workload=oltp", "--oltp_rows=100000"],
    "micro-update": ["--workload=micro-update"],
}
PROTOCOLS = ("occ", "2pl-nowait", "2pl-waitdie")
# A pipeline deep enough for Silo's epochs.
LOGS = {log: [f"--log={log}", "--pipeline_depth=131072"]
        for log in ("none", "eleda", "poplar", "silo")}


def everything(bench, args, common):
    lines = []
    for workload, flags in WORKLOADS.items():
        for cc in PROTOCOLS:
            ways = {log: [*common, *flags, f"--cc={cc}", *log_flags, "--threads=2"]
                    for log, log_flags in LOGS.items()}
            for log, rows in bench.interleave(ways, args.rounds).items():
                lines.append([workload, cc, log, f"{median(rows, 'tps'):.0f}",
                              f"{median(rows, 'abort_pct'):.2f}",
                              f"{median(rows, 'log_bytes_txn'):.0f}",
                              f"{median(rows, 'cpu_pct'):.0f}", rows[0]["verified"]])
    print("Every workload, 2 threads, device file, pipelined")
    table(["workload", "cc", "log", "tps", "aborts %", "log B/txn", "cpu %", "verify"], lines)


MIXES = {
    "tpcc": ["--workload=tpcc", "--tpcc_warehouses=4"],
    "tpcb": ["--workload=tpcb", "--tpcb_branches=4"],
    "tatp": ["--workload=tatp"],
    "oltp": ["--workload=oltp"],
    **{f"ycsb {name}": ["--workload=ycsb", f"--ycsb_workload={name}", "--ycsb_value_bytes=100"]
       for name in "ABCDEF"},
}
# The lines of `logjam run` about transactions by type, and about the shares that they drew.
TYPE = re.compile(r"txn (\S+) +\d+ +share +(\S+) % +success +(\S+) %(?: +\(specified (.*)\))?")
SHARE = re.compile(r"share (.+?) {2,}(\S+) % of (\d+)(?: +\(specified (.*)\))?")


def mixes(bench, args, common):
    lines = []
    for workload, flags in MIXES.items():
        line = [args.logjam, "run", "--log=none", "--threads=2", "--transactions=500000",
                "--seconds=600", "--warmup=0", *flags]
        done = subprocess.run(line, capture_output=True, text=True, check=True)
        for kind, share, success, specified in TYPE.findall(done.stdout):
            lines.append([workload, kind, share, success, specified])
        for what, share, of, specified in SHARE.findall(done.stdout):
            lines.append([workload, f"{what} (of {of})", share, "", specified])
    print("\nA million transactions, and what the specifications say")
    table(["workload", "what", "share %", "success %", "specified share, success"], lines)


def locking(bench, args, common):
    ways = {(theta, threads, cc): [
        *common, "--workload=ycsb", "--ycsb_workload=rows-16", "--ycsb_update=read-row",
        "--ycsb_records=200000", f"--ycsb_theta={theta}", f"--cc={cc}", "--log=none",
        f"--threads={threads}"]
        for theta in (0.6, 0.9) for threads in (2, 8)
        for cc in ("2pl-nowait", "2pl-waitdie", "2pl-detect", "occ")}
    rows = bench.interleave(ways, max(args.rounds, 3))
    print("\nTwo-phase locking: YCSB, 16 operations, half of them read-modify-write, no log")
    table(["theta", "threads", "cc", "tps", "x nowait", "aborts %", "p99 us", "cpu %"],
          [[theta, threads, cc, f"{median(r, 'tps'):.0f}",
            f"{ratio(r, rows[theta, threads, '2pl-nowait']):.2f}", f"{median(r, 'abort_pct'):.1f}",
            f"{median(r, 'exec_p99_us'):.0f}", f"{median(r, 'cpu_pct'):.0f}"]
           for (theta, threads, cc), r in rows.items()])


EXPERIMENTS = {"everything": everything, "mixes": mixes, "locking": locking}


def main():
    run_experiments(common_arguments(__doc__, rounds=1, seconds=5), EXPERIMENTS)


if __name__ == "__main__":
    main()
