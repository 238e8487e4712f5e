#!/usr/bin/env python3
"""Logging of commands compared with logging of values: bytes per transaction, and time to recover.

Both run the same workload (TPC-C) for the same time, in turn. Each log is recovered and verified. A
log of commands is smaller, but recovery executes the commands on one thread, while values are
applied on all threads.
"""

import argparse
import re
import statistics
import subprocess

from experiment import Bench, table

WAYS = {"values": "--log=centr", "commands": "--log=command"}


def recover(bench, threads):
    """Recovers the log of the last run. Returns its transactions, its bytes, and the seconds of the
    replay, without those of the load."""
    line = [bench.logjam, "recover", f"--wal_dir={bench.wal_dir}", f"--threads={threads}",
            "--verify"]
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(line)}\n{done.stdout}{done.stderr}")
    said = re.search(r"^recovered +(\d+) transactions, \d+ records, (\d+) bytes$", done.stdout,
                     re.MULTILINE)
    seconds = re.search(r"^replay_seconds +([\d.]+)$", done.stdout, re.MULTILINE)
    return {"recovered": int(said[1]), "bytes": int(said[2]), "replay": float(seconds[1])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--logjam", default="build/logjam")
    parser.add_argument("--wal_dir", default="/var/tmp")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--threads", type=int, default=2, help="of the run and of the recovery")
    parser.add_argument("--transactions", type=int, default=0,
                        help="each thread ends after so many (with --seconds long enough), so that "
                             "both logs hold equally much work")
    parser.add_argument("--flags", default="--tpcc_warehouses=1", help="more for logjam run")
    args = parser.parse_args()
    common = ["--workload=tpcc", "--cc=occ", "--commit=pipelined", f"--threads={args.threads}",
              f"--seconds={args.seconds}", "--warmup=0", *args.flags.split()]
    if args.transactions:
        common.append(f"--transactions={args.transactions}")

    rows = {name: [] for name in WAYS}
    with Bench(args.logjam, args.wal_dir) as bench:
        for _ in range(args.rounds):
            for name, log in WAYS.items():
                run = bench.run([*common, log])
                found = recover(bench, args.threads)
                if found["recovered"] == 0:
                    raise SystemExit(f"{name}: nothing was recovered")
                rows[name].append({
                    "tps": float(run["tps"]), "run": float(run["log_bytes_txn"]), **found,
                    "log_txn": found["bytes"] / found["recovered"],
                    "us_txn": found["replay"] * 1e6 / found["recovered"]})

    def median(name, column):
        return statistics.median(row[column] for row in rows[name])

    def ratio(column):
        return statistics.median(a[column] / b[column]
                                 for a, b in zip(rows["commands"], rows["values"]))

    table(["log of", "tps", "log B/txn", "log MB", "recovered", "B/recovered", "recovery s",
           "us/recovered"],
          [[name, f"{median(name, 'tps'):.0f}", f"{median(name, 'run'):.0f}",
            f"{median(name, 'bytes') / 1e6:.1f}", f"{median(name, 'recovered'):.0f}",
            f"{median(name, 'log_txn'):.0f}", f"{median(name, 'replay'):.3f}",
            f"{median(name, 'us_txn'):.2f}"] for name in WAYS])
    print(f"commands / values: {ratio('log_txn'):.3f} of the bytes, {ratio('us_txn'):.2f} of the "
          f"recovery time for each transaction, {ratio('tps'):.2f} of the tps")


if __name__ == "__main__":
    main()
