#!/usr/bin/env python3
"""Plants odd files in the directories of logs, and runs logjam's commands there.

A case makes a log of some scheme. The case's seed chooses what it plants: links, FIFOs, sockets,
directories in place of files and files in place of directories, odd names, files of other logs and
of earlier lives, damaged and unreadable files, manifests with odd values and a right checksum. Then
the case runs commands there: run, run --continue, run --overwrite, recover, trim, dump. In some
cases the directory is moved or replaced during a run.

These rules hold for every command. Nothing outside the log's directories changes. The command ends
within 10 seconds, not by a signal and without a stack trace. It prints at most one sentence of
error and no control characters. A command that only reads changes nothing. All acknowledged
transactions are in the recovered log, or an error names the loss. An unharmed log recovers in full.

The script prints each finding with the fewest shell commands that plant it, and exits with 1.
`proof/chaos.py --seed=S --case=N` repeats case N on a new log. Only the runs' timing may differ.
"""

import collections
import contextlib
import functools
import multiprocessing
import os
import random
import resource
import secrets
import shutil
import subprocess
import tempfile
import time
import traceback

import rounds  # also finds scripts/
from experiments.errors import run_main

import chaos_judge
import chaos_logs
import chaos_plants
from chaos_plants import shown

CASES_A_LOG = 50
PROGRESS = 5000  # the number of cases after which the sums are printed
GIB = 2**30


def arguments():
    parser = rounds.options(__doc__.split("\n")[0], first=0, jobs=os.cpu_count())
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, help="of all cases (default: random, printed)")
    parser.add_argument("--case", type=int, help="play this case alone, and print all of it")
    parser.add_argument("--moves", type=float, default=0.01,
                        help="the share of cases that move a directory under a run")
    parser.add_argument("--plants", default="", help="some plants only, separated by commas")
    parser.add_argument("--patience", type=float, default=10,
                        help="the seconds after which a command hangs")
    parser.add_argument("--directory", help="where the logs go (default: a temporary one)")
    given = parser.parse_args()
    given.logjam = os.path.abspath(given.logjam)
    if given.case is not None:
        given.first, given.cases = given.case, 1
    given.end = given.first + given.cases
    given.seed = secrets.randbelow(10**9) if given.seed is None else given.seed
    unknown = set(filter(None, given.plants.split(","))) - chaos_plants.PLANTS.keys()
    if unknown:
        parser.error(f"no plant is named {', '.join(sorted(unknown))}; "
                     f"there are {', '.join(chaos_plants.PLANTS)}")
    return given


def drawn(names, weights, draw):
    return draw.choices(list(names), list(weights))[0]


class Case:
    """The plants and the commands of a case, each with the seed of its own choices."""

    def __init__(self, given, number):
        self.number = number
        self.key = f"{given.seed} {number}"
        draw = random.Random(self.key)
        names = given.plants.split(",") if given.plants else list(chaos_plants.PLANTS)
        weights = [chaos_plants.PLANTS[name][0] for name in names]
        self.moves = draw.random() < given.moves
        count = 0 if self.moves else draw.choice([1, 1, 1, 2, 3]) if draw.random() < 0.98 else 0
        self.plants = [(drawn(names, weights, draw), f"{self.key} plant {at}")
                       for at in range(count)]
        self.commands = [(drawn(chaos_judge.COMMANDS, chaos_judge.COMMANDS.values(), draw),
                          f"{self.key} command {at}") for at in range(draw.choice([1, 1, 2]))]

    def play(self, given, log, place, plants, commands):
        """Runs the case, or a part of it. Returns the Judge that ran the commands."""
        clean(place, os.path.join(given.directory, "other"))
        log.put(place)
        hand = chaos_plants.Hand(log, place)
        hand.as_other = any(name == "unreadable" for name, _ in plants)
        if hand.as_other and os.geteuid() == 0:
            give_away(place)
            clean.outside = None
        for name, seed in plants:
            with contextlib.suppress(OSError):  # an earlier plant may prevent this plant
                chaos_plants.PLANTS[name][1](hand, random.Random(seed))
        if hand.rolled_back and len(plants) > 1:  # another plant may have removed the later runs
            hand.harm = chaos_plants.QUIET
        judge = chaos_judge.Judge(given.logjam, hand, given.patience)
        if self.moves:
            chaos_judge.play_move(judge, random.Random(self.key))
        else:
            for command, seed in commands:
                if not judge.replaced:
                    command(judge, random.Random(seed))
        return judge

    def find(self, given, log, place):
        """Runs the case. Returns the findings of the fewest plants and commands that have any."""
        judge = self.play(given, log, place, self.plants, self.commands)
        runs = judge.runs
        if not judge.found or self.moves:
            return judge, judge.moved_by if self.moves else "", runs
        kind = judge.found[0][0]
        plants, commands = self.plants, self.commands
        for at in reversed(range(len(plants) + len(commands))):
            fewer = (plants[:at] + plants[at + 1:], commands) if at < len(plants) else (
                plants, commands[:at - len(plants)] + commands[at - len(plants) + 1:])
            if fewer[1] and kind in [one for one, _ in
                                     self.play(given, log, place, *fewer).found]:
                plants, commands = fewer
        judge = self.play(given, log, place, plants, commands)
        return judge, "+".join(name for name, _ in plants) or "no plant", runs


def give_away(place):
    """Makes the unprivileged user, who runs the commands, the owner of a directory."""
    for top, folders, names in os.walk(place):
        for name in [".", *folders, *names]:
            os.chown(os.path.join(top, name), chaos_judge.NOBODY, chaos_judge.NOBODY,
                     follow_symlinks=False)


def remove(place):
    """Removes a directory, even if a plant has removed the right to do so."""
    for top, folders, _ in os.walk(place):
        for name in folders:
            if not os.path.islink(os.path.join(top, name)):
                os.chmod(os.path.join(top, name), 0o700)
    shutil.rmtree(place, ignore_errors=True)


def clean(place, other):
    """Makes a directory that contains only `outside`, in its unchanged form."""
    outside, kept = os.path.join(place, "outside"), os.path.join(place, "..", "kept")
    if clean.outside and os.path.isdir(outside) and chaos_judge.tree_of(outside) == clean.outside:
        os.rename(outside, kept)
    remove(place)
    os.makedirs(place)
    os.chmod(place, 0o755)
    if os.path.isdir(kept):
        os.rename(kept, outside)
    else:
        chaos_plants.make_outside(place, other)
        clean.outside = chaos_judge.tree_of(outside)


clean.outside = None


def report(case, log, judge, planted):
    lines = [f"case {case.number}, {log.scheme}, {planted}:"]
    lines += [f"  {kind}: {text}" for kind, text in judge.found]
    flags = " ".join(chaos_judge.RUN if case.moves else log.flags)
    lines += [f"  F={flags!r}"]
    if log.lives and not case.moves:
        lines += ["  logjam " + " ".join(map(shown, words)).replace(flags, "$F")
                  for words in log.made_by]
    lines += [f"  {did}".replace(flags, "$F") for did in judge.hand.did]
    for done in judge.played:
        said = done.text().replace(flags, "$F").split("\n", 1)
        lines += [f"  {said[0]}"]
        lines += [f"    {ascii(line)[1:-1][:300]}" for line in said[1].splitlines() if line[:8] in (
            "FAIL rec", "FAIL his") or line.startswith(("logjam:", "F2", "E2", "W2", "cut", "WARN",
                                                        "recovered"))][:6]
    return "\n".join(lines)


@contextlib.contextmanager
def going_on(counts, found, number):
    """Counts an exception as a fault of these scripts, and continues with the next case."""
    try:
        yield
    except Exception as error:  # pylint: disable=broad-except
        what = f"{type(error).__name__}: {error}"
        counts["found", "script", what] += 1
        found.append((number, "script", what, traceback.format_exc()))


def play_cases(given, first):
    """Runs the cases that use the log of case `first`. Returns counts, and the findings."""
    counts, found = collections.Counter(), []
    folder = tempfile.mkdtemp(dir=given.directory)
    os.chmod(folder, 0o755)
    with going_on(counts, found, first):
        log = chaos_logs.Log(given.logjam, random.Random(f"{given.seed} log {first}"),
                             os.path.join(folder, "log"), chaos_logs.schemes_of(given.logjam))
        counts["logs"] += 1
        for number in range(max(first, given.first), min(first + CASES_A_LOG, given.end)):
            with going_on(counts, found, number):
                play_case(given, Case(given, number), log, os.path.join(folder, "place"), counts,
                          found)
    if given.case is None:
        remove(folder)
    return counts, found


def play_case(given, case, log, place, counts, found):
    judge, planted, runs = case.find(given, log, place)
    counts["cases"] += 1
    counts["commands"] += runs
    for name in {name for name, _ in case.plants} or {"moved" if case.moves else "nothing"}:
        counts["plant", name] += 1
    if judge.found:
        kind = judge.found[0][0]
        counts["found", kind, planted] += 1
        found.append((case.number, kind, planted, report(case, log, judge, planted)))
    if given.case is not None:
        print("\n".join(judge.hand.did))
        print(*(done.text() for done in judge.played), sep="\n")


def make_other(given):
    """Makes the other log. Plants put files of this log among the files of the tested logs."""
    folder = os.path.join(given.directory, "other")
    os.makedirs(folder)
    for words in (["--checkpoint=s:0.01"], ["--continue"]):
        subprocess.run([given.logjam, "run", *chaos_logs.SCALE, "--log=centr", "--wal_dir=log0",
                        "--log_prealloc_mb=0", "--history=history", *words], cwd=folder, check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    for name in os.listdir(folder):
        if name.startswith("history"):
            os.truncate(os.path.join(folder, name), 4096)


def print_sums(counts, seconds):
    print(f"{'plant':20} {'cases':>8} {'found in':>9}")
    for (_, name), count in sorted((item for item in counts.items() if item[0][0] == "plant"),
                                   key=lambda item: item[0]):
        of_it = sum(number for key, number in counts.items()
                    if key[0] == "found" and name in key[2].split("+"))
        print(f"{name:20} {count:8} {of_it:9}")
    for key, count in sorted(item for item in counts.items() if item[0][0] == "found"):
        print(f"found {key[1]:10} {key[2]:40} {count:6}")
    print(f"{counts['cases']} cases of {counts['logs']} logs, {counts['commands']} commands, "
          f"{sum(number for key, number in counts.items() if key[0] == 'found')} found, "
          f"{seconds:.0f} s", flush=True)


def play_all(given):
    counts, seen, found = collections.Counter(), set(), False
    begun = time.monotonic()
    with multiprocessing.Pool(given.jobs) as pool:
        logs = range(given.first // CASES_A_LOG * CASES_A_LOG, given.end, CASES_A_LOG)
        for more, reports in pool.imap_unordered(functools.partial(play_cases, given), logs):
            before = counts["cases"]
            counts.update(more)
            if counts["cases"] // PROGRESS > before // PROGRESS:
                print_sums(counts, time.monotonic() - begun)
            for number, kind, planted, text in reports:
                found = True
                if (kind, planted) not in seen:
                    seen.add((kind, planted))
                    print(f"after {counts['cases']} cases: {text}\n  again: proof/chaos.py "
                          f"--seed={given.seed} --case={number}\n", flush=True)
    print_sums(counts, time.monotonic() - begun)
    return 1 if found else 0


def main():
    given = arguments()
    revision = subprocess.run([given.logjam, "--version"], stdout=subprocess.PIPE, text=True,
                              check=True).stdout.strip()
    print(f"{given.cases} cases from seed {given.seed}, {revision}", flush=True)
    # A command that takes a size from a damaged file fails at this limit.
    resource.setrlimit(resource.RLIMIT_DATA, (6 * GIB, 6 * GIB))
    resource.setrlimit(resource.RLIMIT_FSIZE, (GIB // 2, GIB // 2))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    kept = given.directory
    given.directory = tempfile.mkdtemp(prefix="logjam-chaos-", dir=kept)
    os.chmod(given.directory, 0o755)
    # A build may replace the program meanwhile. Every user can read the copy in this directory.
    given.logjam = shutil.copy(given.logjam, given.directory)
    try:
        make_other(given)
        return play_all(given)
    finally:
        if given.case is None:
            remove(given.directory)
        else:
            print(f"the case is in {given.directory}")


if __name__ == "__main__":
    run_main(main)
