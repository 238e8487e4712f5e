#!/usr/bin/env python3
"""Runs many rounds of the crash test (tests/proof/crash_test.cc) and counts the results.

Each round runs the ledger in a configuration that follows from its seed, kills it (SIGKILL),
recovers, and checks R1 to R4 and serializability against the history. The same seed gives the same
configuration again: proof/crash_rounds.py --rounds=1 --seed=S
Consecutive seeds walk through all schemes. With --scheme=NAME, the script runs only the rounds of
that scheme. With --sync=fdatasync, all rounds have this sync method. With --lives, each round has
three to five lives on one set of directories.
"""

import collections
import os
import re
import secrets
import subprocess
import sys
import time

from rounds import ROOT  # also finds scripts/
from experiments.errors import parser, run_main, whole

SEED = re.compile(r"^seed (\d+), (\S+)$")
PROVED = re.compile(r"(\d+) committing, (\d+) acknowledged, all proved$")
FAILED = re.compile(r"^\[  FAILED  \] Rounds/Crash\w*\.Loses?Nothing/(\S+), .*\(\d+ ms\)$")


def arguments():
    made = parser(__doc__)
    made.add_argument("--rounds", type=whole, default=100)
    made.add_argument("--seed", type=whole, help="of the first round (default: random, printed)")
    made.add_argument("--lives", action="store_true",
                      help="play rounds of three to five lives, with checkpoints (crash_round.h)")
    made.add_argument("--scheme",
                      help="play only rounds of this scheme: 60, if --rounds has all combinations (2200)")
    made.add_argument("--sync", choices=("dsync", "fdatasync", "fsync"),
                      help="the sync method of all rounds, in place of drawn ones")
    made.add_argument("--build", default="build", help="the binaries' directory, under the root")
    given = made.parse_args()
    if given.rounds < 1:
        made.error("--rounds must be at least 1")
    for binary in ("logjam", "tests/all"):
        if not os.access(os.path.join(ROOT, given.build, binary), os.X_OK):
            made.error(f"{given.build}/{binary} is not built: make {given.build}/{binary}")
    return given


def main():
    given = arguments()
    seed = secrets.randbelow(10**9) if given.seed is None else given.seed
    print(f"{given.rounds} rounds from seed {seed}", flush=True)
    environment = dict(
        os.environ,
        LOGJAM=os.path.join(ROOT, given.build, "logjam"),
        LOGJAM_CRASH_SEED=str(seed),
        LOGJAM_CRASH_ROUNDS=str(given.rounds),
    )
    if given.sync:
        environment["LOGJAM_CRASH_SYNC"] = given.sync
    only = given.scheme.replace("-", "_") + "_" if given.scheme else ""
    command = [os.path.join(ROOT, given.build, "tests/all"), "--gtest_color=no",
               "--gtest_filter=Rounds/" +
               ("CrashLives.LoseNothing/" if given.lives else "Crash.LosesNothing/") + f"{only}*"]
    start = time.monotonic()
    proved = collections.Counter()
    combinations = set()
    acknowledged = 0
    failed = []
    with subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace") as tests:
        for line in tests.stdout:
            if not line.startswith("["):
                sys.stdout.write(line)
                sys.stdout.flush()
            line = line.rstrip("\n")
            if found := SEED.match(line):
                combination = found[2]
                combinations.add(combination)
            elif found := PROVED.search(line):
                proved[combination] += 1
                acknowledged += int(found[2])
            elif found := FAILED.match(line):
                failed.append(found[1])
    seconds = time.monotonic() - start
    print(f"{sum(proved.values())} rounds proved, {len(failed)} failed, "
          f"{len(combinations)} combinations, {acknowledged} acknowledged transactions, "
          f"{seconds:.0f} s, seeds {seed} to {seed + given.rounds - 1}")
    for name in failed:
        print(f"FAILED {name}")
    played = len(failed) + sum(proved.values())
    if played == 0 or (not given.scheme and not failed and played != given.rounds):
        print(f"FAILED: only {sum(proved.values())} of {given.rounds} rounds were played")
        return 1
    return 1 if failed or tests.returncode else 0


if __name__ == "__main__":
    run_main(main)
