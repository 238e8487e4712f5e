#!/usr/bin/python3
"""Damages small logs of every scheme, a million times, and counts the results of recovery.

Each damage flips a bit, cuts off a file or one of its segment files, or zeroes a block of 512
bytes, in one stream of one run (tests/proof/corruption_test.cc judges). With --runs, the logs have
several runs, checkpoints and a manifest, and a damage hits any file. It may then also remove the
file, or restore its content from an earlier run (tests/proof/chain_corruption_test.cc). Recovery
must use a closed set of transactions (rule R4), or report the damage. The script prints the number
of damages by their effect. The exit status is 1 if a test failed.
"""

import concurrent.futures
import os
import re
import subprocess

import rounds  # noqa: F401  # finds scripts/
from experiments.errors import parser, program, run_main, whole
from experiments.text_tables import print_lines
from run_tests import list_tests

LINE = re.compile(r"^corruptions (\S+) (\w+): (\d+) unharmed, (\d+) shorter \((\d+) silent\), "
                  r"(\d+) reported, (\d+) refused$", re.M)
COLUMNS = ["unharmed", "shorter", "silent", "reported", "refused"]


def main():
    options = parser(__doc__)
    options.add_argument("--runs", action="store_true",
                        help="damage logs of several runs, with checkpoints and a manifest")
    options.add_argument("--first_log", type=whole, default=0,
                        help="with --runs: the seed of the first log, to add to an earlier count")
    options.add_argument("--corruptions", type=whole, default=1_000_000)
    options.add_argument("--binary", type=program, default="build/tests/all")
    options.add_argument("--jobs", type=whole, default=os.cpu_count())
    args = options.parse_args()
    suite = "ChainCorruptions" if args.runs else "Corruptions"
    names = list_tests([args.binary, f"--gtest_filter=All/{suite}.*"])
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
    totals = [["all", how, *map(sum, zip(*(row for key, row in counts.items() if key[1] == how)))]
              for how in dict.fromkeys(how for _, how in counts)]
    print_lines(["", "", *COLUMNS], [*([*key, *row] for key, row in counts.items()), *totals])
    made = sum(sum(row) - row[COLUMNS.index("silent")] for row in counts.values())
    print(f"{made} corruptions of {len(names)} schemes and granularities, {len(failed)} failed")
    return 1 if failed or not counts else 0


if __name__ == "__main__":
    run_main(main)
