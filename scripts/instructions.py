#!/usr/bin/python3
"""Instructions a transaction, counted by callgrind: what the log itself adds to a commit.

Each figure is the difference between two runs that differ only in how many transactions they do, so
that loading and starting cancel out.
"""

import argparse
import re
import subprocess
import tempfile

from experiment import table

FEW, MANY = 2000, 12000


def instructions(logjam, flags, transactions):
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={directory}/out", logjam, "run",
             *flags, f"--log_dir={directory}", f"--transactions={transactions}", "--seconds=3600", "--warmup=0",
             "--noverify", "--nobreakdown"],
            capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        raise SystemExit(f"valgrind failed: {done.stderr.strip()}")
    return int(found.group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logjam", default="build/logjam")
    args = parser.parse_args()
    common = ["--workload=ycsb", "--ycsb_records=20000", "--ycsb_value_bytes=100", "--ycsb_ops=1",
              "--ycsb_theta=0", "--threads=1"]
    lines = []
    for cc in ("occ", "2pl-nowait"):
        for kind, read_ratio in (("1 read", 1), ("1 update", 0)):
            counts = {}
            for log in ("none", "centr"):
                flags = [*common, f"--ycsb_read_ratio={read_ratio}", f"--cc={cc}", f"--log={log}",
                         "--device=null"]
                counts[log] = (instructions(args.logjam, flags, MANY)
                               - instructions(args.logjam, flags, FEW)) / (MANY - FEW)
            lines.append([cc, kind, f"{counts['none']:.0f}", f"{counts['centr']:.0f}",
                          f"{counts['centr'] - counts['none']:.0f}"])
    table(["cc", "transaction", "none", "centr", "the log's own"], lines)


if __name__ == "__main__":
    main()
