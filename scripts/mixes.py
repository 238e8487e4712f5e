#!/usr/bin/python3
"""The transaction mixes of a million transactions of each workload, beside those of the specifications."""

import argparse
import re
import subprocess

import pandas

from experiments.runner import logjam_of

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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logjam")
    parser.add_argument("--transactions", type=int, default=1_000_000)
    args = parser.parse_args()
    lines = []
    for workload, flags in MIXES.items():
        said = subprocess.run(
            [logjam_of(args.logjam), "run", "--log=none", "--threads=2", "--warmup=0",
             f"--transactions={args.transactions // 2}", "--seconds=600", *flags],
            stdout=subprocess.PIPE, text=True, check=True).stdout
        lines += [[workload, *found] for found in TYPE.findall(said)]
        lines += [[workload, f"{what} (of {of})", share, "", specified]
                  for what, share, of, specified in SHARE.findall(said)]
    print(pandas.DataFrame(lines, columns=["workload", "what", "share %", "success %",
                                           "specified share, success"]).to_string(index=False))


if __name__ == "__main__":
    main()
