#!/usr/bin/python3
"""Instructions, counted by callgrind: those of one log insert, and those that the log adds to a
transaction.

Each result is the difference between two runs that differ only in the number of transactions, so
that the load and the start cancel out.
"""

import argparse
import glob
import re
import subprocess
import tempfile

import pandas

from experiments.errors import program, run_main
from experiments.runner import schemes_of

FEW, MANY = 2000, 12000


def table(heading, lines):
    print(pandas.DataFrame(lines, columns=heading).to_string(index=False))


def instructions(logjam, flags, transactions):
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={directory}/out", logjam, "run",
             *flags, f"--wal_dir={directory}", f"--transactions={transactions}", "--seconds=3600", "--warmup=0",
             "--noverify", "--nobreakdown"],
            capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        raise SystemExit(f"valgrind failed: {done.stderr.strip()}")
    return int(found.group(1))


def inserter_instructions(logjam, flags, inserts):
    """Returns the instructions of the inserting thread, which is the last thread started. Those of
    the flushers are not counted."""
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--separate-threads=yes",
             f"--callgrind-out-file={directory}/out", logjam, "micro", *flags, "--device=null",
             "--threads=1", f"--transactions={inserts}", "--seconds=3600"],
            capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"valgrind failed: {done.stderr.strip()}")
        last = sorted(glob.glob(f"{directory}/out-*"))[-1]
        with open(last) as file:
            return int(re.search(r"^(?:totals|summary): (\d+)", file.read(), re.M).group(1))


def inserts(logjam):
    """Prints the instructions of an insert: one thread inserts records of 120 B, few enough that no
    buffer or list of a scheme fills up."""
    ways = {"plain copy": ["--floor=copy"], "fetch-add, copy": ["--floor=fetch-add"]}
    for name, flags in schemes_of(logjam).items():
        if "device" in flags:  # the instructions would include the device's
            continue
        ways[name] = [f"--log={name}"]
        if name.startswith("eleda"):
            # Only the grasshopper's worker crawls, not the inserting thread.
            ways[f"{name}, its worker only"] = [f"--log={name}", "--flush_help=false"]
    lines, floor = [], None
    for name, flags in ways.items():
        flags = [*flags, "--record_bytes=120"]
        count = (inserter_instructions(logjam, flags, MANY)
                 - inserter_instructions(logjam, flags, FEW)) / (MANY - FEW)
        floor = floor or count
        lines.append([name, f"{count:.0f}", f"{count - floor:.0f}"])
    table(["insert of 120 B", "instructions", "more than a plain copy"], lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logjam", type=program, default="build/logjam")
    args = parser.parse_args()
    inserts(args.logjam)
    print()
    common = ["--workload=ycsb", "--ycsb_workload=poplar-write-only", "--ycsb_records=20000",
              "--ycsb_value_bytes=100", "--threads=1"]
    lines = []
    for cc in ("occ", "2pl-nowait"):
        for kind, read_ratio in (("1 read", 1), ("1 update", 0)):
            counts = {}
            for log in ("none", "centr"):
                flags = [*common, f"--ycsb_ratios=read:{read_ratio}", f"--cc={cc}", f"--log={log}",
                         "--device=null"]
                counts[log] = (instructions(args.logjam, flags, MANY)
                               - instructions(args.logjam, flags, FEW)) / (MANY - FEW)
            lines.append([cc, kind, f"{counts['none']:.0f}", f"{counts['centr']:.0f}",
                          f"{counts['centr'] - counts['none']:.0f}"])
    table(["cc", "transaction", "none", "centr", "the log's own"], lines)


if __name__ == "__main__":
    run_main(main)
