#!/usr/bin/env python3
"""Reduces a failure that the explorer has found: usage: minimise.py [FLAGS] --seed=SEED, with the
flags that `logjam explore` printed after "again".

First the script simplifies the round: it tries fewer threads and transactions, and simpler
settings, and keeps them if one of the next seeds fails in the same way. Then it removes turns
(ddmin: Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002). It prints
the number of remaining turns, and the command that repeats the reduced round.
"""

import os
import re
import shlex
import subprocess
import tempfile
import time

import rounds  # also finds scripts/
from experiments.errors import Refused, run_main, whole

# The flags whose values the seed chooses, unless the command line gives them.
DRAWN = ("log", "cc", "commit", "log_records", "threads", "transactions", "pipeline_depth", "locks",
         "flush", "flush_help", "pwal_ngroup", "ledger", "wal_dir", "checkpoint",
         "log_prealloc_mb", "test", "workload")
# Each flag's simpler values, the simplest first.
SIMPLER = (("threads", ("2",)), ("transactions", ("1", "2", "3", "5", "10")), ("checkpoint", ("",)),
           ("wal_dir", ("a",)), ("log_records", ("txn",)), ("commit", ("sync",)),
           ("pipeline_depth", ("1",)), ("flush", ("",)), ("flush_help", ("true",)),
           ("locks", ("early",)), ("log_prealloc_mb", ("0",)),
           ("ledger", ("keys:8,cells:4,slots:1,reads:0,writes:1,theta:0",)))


def kind_of(printed):
    """Returns a failed round's message without names and numbers, or None."""
    found = re.search(r"^seed +\d+: (.*)", printed, re.MULTILINE)
    return re.sub(r"\S*\d+", "N", found[1]) if found else None


def value_of(printed, line):
    found = re.search(rf"^{line} +(.*)", printed, re.MULTILINE)
    return found[1] if found else ""


class Failure:
    """A round that fails: its flags, its seed, and how it fails."""

    def __init__(self, logjam, words):
        self.logjam = logjam
        self.runs = 0
        printed = self.explore([*words, "--rounds=1"])
        self.kind = kind_of(printed)
        if self.kind is None:
            raise Refused("that round finds nothing:\n" + printed)
        # With all flags given, a seed chooses only the schedule.
        drawn = dict(word[2:].split("=", 1)
                     for word in shlex.split(value_of(printed, "flags")))
        given = dict(word[2:].split("=", 1) for word in words)
        workload = drawn.get("workload", given.get("workload", ""))
        names = [name for name in drawn if name.startswith(workload.replace("-", "_") + "_")]
        self.flags = {**{name: drawn.get(name, "") for name in (*DRAWN, *names)}, **given}
        if workload != "ledger":
            del self.flags["ledger"]
        self.seed = int(self.flags.pop("seed"))
        self.printed = printed

    def explore(self, words, seconds=600):
        self.runs += 1
        done = subprocess.run(["timeout", str(seconds), self.logjam, "explore", *words],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False)
        return done.stdout

    def words(self, flags=None):
        return [f"--{name}={value}" for name, value in (flags or self.flags).items()]

    def simplify(self, seeds, seconds):
        """Tries each simpler value. Keeps it if one of the next seeds fails in the same way."""
        for name, values in SIMPLER:
            for value in values if name in self.flags else ():
                if self.flags[name] == value:
                    break
                flags = {**self.flags, name: value}
                first = self.seed
                printed = self.explore([*self.words(flags), f"--seed={first}", f"--rounds={seeds}"],
                                       seconds)
                if kind_of(printed) != self.kind:
                    continue
                self.flags, self.printed = flags, printed
                self.seed = int(re.search(r"^seed +(\d+)", printed, re.MULTILINE)[1])
                break

    def fails_with(self, turns, crash, path):
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(turns + crash)
        printed = self.explore([*self.words(), f"--seed={self.seed}", "--rounds=1",
                                f"play={path}"])
        if kind_of(printed) != self.kind:
            return False
        self.printed = printed
        return True

    def minimise_turns(self, path, seconds):
        """Returns the number of turns before and after. The file at `path` has the turns."""
        end = time.monotonic() + seconds
        self.explore([*self.words(), f"--seed={self.seed}", "--rounds=1", f"record={path}"])
        with open(path, encoding="utf-8") as file:
            lines = file.readlines()
        turns = [line for line in lines if line.startswith("turn")]
        crash = [line for line in lines if line.startswith("crash")]
        before, pieces = len(turns), 1
        if not self.fails_with(turns, crash, path):
            raise Refused("the recorded schedule does not fail again")
        while turns and time.monotonic() < end:
            size = -(-len(turns) // pieces)
            for begin in range(0, len(turns), size):
                fewer = turns[:begin] + turns[begin + size:]
                if time.monotonic() > end:
                    break
                if self.fails_with(fewer, crash, path):
                    turns, pieces = fewer, max(pieces - 1, 1)
                    break
            else:
                if size == 1:
                    break
                pieces = min(2 * pieces, len(turns))
        self.fails_with(turns, crash, path)
        return before, len(turns)


def main():
    options = rounds.options(__doc__, "build-sim")
    options.add_argument("--seeds", type=whole, default=200, help="that a simpler round is given")
    options.add_argument("--seconds", type=whole, default=30, help="for each simpler value, at most")
    options.add_argument("--turns-seconds", type=whole, default=120, help="for the turns, at most")
    options.add_argument("--to", help="the file for the schedule that is left")
    given, words = options.parse_known_args()
    words = [word for word in words if not word.startswith("--rounds")]
    if not any(word.startswith("--seed=") for word in words):
        raise Refused("--seed is missing")
    failure = Failure(given.logjam, words)
    print("before    logjam explore " + " ".join(words))
    print("          " + value_of(failure.printed, "schedule"))
    failure.simplify(given.seeds, given.seconds)
    path = given.to or os.path.join(tempfile.mkdtemp(prefix="logjam-"), "schedule")
    before, after = failure.minimise_turns(path, given.turns_seconds)
    print(f"after     {before} turns of the smaller round, {after} of them needed; "
          f"{failure.runs} runs")
    print("          logjam explore " + shlex.join(failure.words()) +
          f" --seed={failure.seed} --rounds=1 play={path}")
    print(failure.printed, end="")


if __name__ == "__main__":
    run_main(main)
