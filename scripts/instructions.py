#!/usr/bin/python3
"""Counts instructions with callgrind: of one log insert, and the instructions that the log adds to
a transaction.

Each result is the difference between two runs that differ only in the number of transactions. So
the instructions of the load and of the start cancel out.
"""

import glob
import re
import subprocess
import tempfile

from experiments.errors import Refused, parser, program, run_main
from experiments.runner import schemes_of
from experiments.text_tables import print_lines

FEW, MANY = 2000, 12000


def counted(logjam, command, flags, transactions, one_thread):
    """Returns the instructions of a run. `one_thread`: only of the thread that started last."""
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={directory}/out",
             *["--separate-threads=yes"] * one_thread, logjam, command,
             *(flag.format(directory=directory) for flag in flags), "--seconds=3600",
             f"--transactions={transactions}"], capture_output=True, text=True, check=False)
        said = done.stderr
        if done.returncode == 0 and one_thread:
            with open(max(glob.glob(f"{directory}/out-*")), encoding="utf-8") as file:
                said = file.read()
    found = re.search(r"(?:Collected : |^totals: |^summary: )(\d+)", said, re.M)
    if done.returncode != 0 or not found:
        raise Refused(f"valgrind failed: {done.stderr.strip()}")
    return int(found[1])


def each(logjam, command, flags, one_thread=False):
    few, many = (counted(logjam, command, flags, count, one_thread) for count in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def inserts(logjam):
    """Prints the instructions of one insert of 120 B, without the flushers' instructions."""
    ways = {"plain copy": ["--floor=copy"], "fetch-add, copy": ["--floor=fetch-add"]}
    for name, flags in schemes_of(logjam).items():
        if "device" in flags:  # the device's instructions would count, too
            continue
        ways[name] = [f"--log={name}"]
        if name.startswith("eleda"):
            # Only the grasshopper's worker advances SBL, and not the inserting thread.
            ways[f"{name}, its worker only"] = [f"--log={name}", "--flush_help=false"]
    counts = {name: each(logjam, "micro", [*flags, "--record_bytes=120", "--device=null",
                                           "--threads=1"], one_thread=True)
              for name, flags in ways.items()}
    print_lines(["insert of 120 B", "instructions", "more than a plain copy"],
                [[name, round(count), round(count - counts["plain copy"])]
                 for name, count in counts.items()])


def main():
    options = parser(__doc__)
    options.add_argument("--logjam", type=program, default="build/logjam")
    logjam = options.parse_args().logjam
    inserts(logjam)
    print()
    lines = []
    for cc in ("occ", "2pl-nowait"):
        for kind, read_ratio in (("1 read", 1), ("1 update", 0)):
            none, centr = (each(logjam, "run", [
                "--workload=ycsb", "--ycsb_workload=poplar-write-only", "--ycsb_records=20000",
                "--ycsb_value_bytes=100", "--threads=1", f"--ycsb_ratios=read:{read_ratio}",
                f"--cc={cc}", f"--log={log}", "--device=null", "--wal_dir={directory}",
                "--warmup=0", "--noverify", "--nobreakdown"]) for log in ("none", "centr"))
            lines.append([cc, kind, round(none), round(centr), round(centr - none)])
    print_lines(["cc", "transaction", "none", "centr", "the log's own"], lines)


if __name__ == "__main__":
    run_main(main)
