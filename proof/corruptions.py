#!/usr/bin/python3
"""Damages small logs, a million times, with every scheme, and counts what recovery makes of it.

Each damage flips a bit, cuts off a file or one of its segment files, or zeroes a block of 512
bytes, in one stream of one run (tests/proof/corruption_test.cc judges). With --runs, the logs have
several runs, checkpoints and a manifest; any of their files may be hit, and it may also be removed,
or be what it was at the end of an earlier run (tests/proof/chain_corruption_test.cc). The set that
recovery uses must be closed, or recovery must report the damage. Prints the number of corruptions
by their effect, and ends with status 1 if a test failed.

usage: proof/corruptions.py [--runs [--first_log=0]] [--corruptions=1000000]
                            [--binary=build/tests/all] [--jobs=2]
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys

LINE = re.compile(r"^corruptions (\S+) (\w+): (\d+) unharmed, (\d+) shorter \((\d+) silent\), "
                  r"(\d+) reported, (\d+) refused$", re.M)
COLUMNS = ["unharmed", "shorter", "silent", "reported", "refused"]


def tests_of(binary, suite):
    listed = subprocess.run([binary, "--gtest_list_tests", f"--gtest_filter=All/{suite}.*"],
                            stdout=subprocess.PIPE, text=True, check=True).stdout
    suite, names = "", []
    for line in listed.splitlines():
        if line.startswith(" "):
            names.append(suite + line.split()[0])
        elif line.split("#")[0].strip().endswith("."):
            suite = line.split("#")[0].strip()
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--runs", action="store_true",
                        help="damage logs of several runs, with checkpoints and a manifest")
    parser.add_argument("--first_log", type=int, default=0,
                        help="with --runs: the seed of the first log, to add to an earlier count")
    parser.add_argument("--corruptions", type=int, default=1_000_000)
    parser.add_argument("--binary", default="build/tests/all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    names = tests_of(args.binary, "ChainCorruptions" if args.runs else "Corruptions")
    environment = {**os.environ,
                   "LOGJAM_CORRUPTIONS": str(-(-args.corruptions // len(names))),
                   "LOGJAM_FIRST_LOG": str(args.first_log)}

    def run(name):
        return subprocess.run([args.binary, f"--gtest_filter={name}"], env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)

    counts, failed = {}, []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for name, done in zip(names, pool.map(run, names)):
            if done.returncode:
                failed.append(name)
                print(done.stdout)
            for case, how, *numbers in LINE.findall(done.stdout):
                counts[case, how] = [int(number) for number in numbers]
    print(f"{'':24}{'':6}" + "".join(f"{column:>10}" for column in COLUMNS))
    for (case, how), row in counts.items():
        print(f"{case:24}{how:6}" + "".join(f"{number:10}" for number in row))
    for how in dict.fromkeys(how for _, how in counts):
        total = [sum(column) for column in zip(*(row for key, row in counts.items()
                                                 if key[1] == how))]
        print(f"{'all':24}{how:6}" + "".join(f"{number:10}" for number in total))
    made = sum(sum(row) - row[COLUMNS.index("silent")] for row in counts.values())
    print(f"{made} corruptions of {len(names)} schemes and granularities, {len(failed)} failed")
    sys.exit(1 if failed or not counts else 0)


if __name__ == "__main__":
    main()
