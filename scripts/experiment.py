"""Runs logjam in several ways, in turn, and computes medians.

A single run proves nothing on two noisy cores. The ways are interleaved (A B C, A B C, ...), so
that a slow phase of the machine affects all of them alike. A ratio of two ways is the median of the
ratios of the rounds.
"""

import argparse
import csv
import os
import shutil
import statistics
import subprocess
import tempfile
import time


# How the papers write their logs, where logjam's defaults differ.
PAPERS = ["--flagfile=" + os.path.join(os.path.dirname(__file__), "..", "config", "papers.flags")]


def processor_seconds():
    """The seconds that all programs of this machine, and the host, have taken from its cores so
    far. The kernel's own threads are not counted: they work for the run that is measured."""
    with open("/proc/stat", encoding="ascii") as stat:
        user, nice, _, _, _, _, _, steal = map(int, stat.readline().split()[1:9])
    return (user + nice + steal) / os.sysconf("SC_CLK_TCK")


class Bench:
    """A logjam binary, and a temporary directory for its logs under the caller's `wal_dir`. Use it
    in a `with` statement, which removes the directory at the end. `always` are flags of all
    runs."""

    def __init__(self, logjam, wal_dir, always=()):
        self.logjam = logjam
        self.always = list(always)
        self.thrown_away = 0
        os.makedirs(wal_dir, exist_ok=True)
        self.wal_dir = tempfile.mkdtemp(prefix="logjam-bench-", dir=wal_dir)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.wal_dir, ignore_errors=True)

    def run(self, flags, command="run"):
        """Runs `logjam run` (or another command) once. Returns its CSV row as a dict of strings."""
        path = os.path.join(self.wal_dir, "row.csv")
        if os.path.exists(path):
            os.remove(path)
        line = [self.logjam, command, f"--wal_dir={self.wal_dir}", "--overwrite",
                f"--csv={path}", *self.always, *flags]
        done = subprocess.run(line, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(line)}\nexited {done.returncode}: {done.stderr.strip()}")
        with open(path, newline="") as file:
            return next(csv.DictReader(file))

    def run_alone(self, flags, most_of_others=0.03, tries=5):
        """As run(), but throws a run away, and repeats it, if other programs took more than this
        share of the cores meanwhile. After so many tries it takes what it has."""
        for _ in range(tries):
            taken, used = processor_seconds(), os.times().children_user
            begun = time.monotonic()
            row = self.run(flags)
            others = processor_seconds() - taken - (os.times().children_user - used)
            if others <= most_of_others * (time.monotonic() - begun) * os.cpu_count():
                return row
            self.thrown_away += 1
        return row

    def interleave(self, ways, rounds, command="run"):
        """`ways` maps names to flags. Returns a map of names to lists of rows, one row for each
        round."""
        rows = {name: [] for name in ways}
        for _ in range(rounds):
            for name, flags in ways.items():
                rows[name].append(self.run(flags, command))
        return rows


def schemes(logjam, but=("none",)):
    """A map of the log schemes' names, except those in `but`, to the device that each needs, or ""
    if it runs on any device."""
    listed = subprocess.run([logjam, "list", "schemes"], capture_output=True, text=True, check=True)
    lines = [line.split() for line in listed.stdout.splitlines()[1:] if line.strip()]
    return {name: "" if device == "any" else device for name, device, *_ in lines if name not in but}


def median(rows, column):
    return statistics.median(float(row[column]) for row in rows)


def counter(rows, name):
    """The median of a counter of the scheme, from the column scheme_counters of `logjam run`."""
    return statistics.median(
        float(dict(pair.split("=") for pair in row["scheme_counters"].split())[name])
        for row in rows)


def ratio(rows, other, column="tps"):
    """The median of the ratios rows / other of the rounds."""
    return statistics.median(
        float(a[column]) / float(b[column]) if float(b[column]) else float("nan")
        for a, b in zip(rows, other)
    )


def table(heading, lines):
    """Prints aligned columns: the first to the left, the others to the right."""
    cells = [heading] + [[str(cell) for cell in line] for line in lines]
    widths = [max(len(line[i]) for line in cells) for i in range(len(heading))]
    for line in cells:
        print("  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths))
        ))


def common_arguments(description, wal_dir=".", rounds=3, seconds=2):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--logjam", default="build/logjam")
    parser.add_argument("--wal_dir", default=wal_dir)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--seconds", type=float, default=seconds)
    return parser


def run_experiments(parser, experiments, always=()):
    """Runs the experiments named by --only. `experiments` maps names to functions of a Bench, the
    arguments, and the flags for all runs; `always` are flags that every run gets before those."""
    parser.add_argument("--only", default=",".join(experiments))
    args = parser.parse_args()
    common = [f"--seconds={args.seconds}", "--warmup=0.5"]
    with Bench(args.logjam, args.wal_dir, always) as bench:
        for name in args.only.split(","):
            if name not in experiments:
                raise SystemExit(f"no experiment {name}: there are {', '.join(experiments)}")
            experiments[name](bench, args, common)
