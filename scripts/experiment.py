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


class Bench:
    """A logjam binary, and a temporary directory for its logs under the caller's `wal_dir`. Use it
    in a `with` statement, which removes the directory at the end."""

    def __init__(self, logjam, wal_dir):
        self.logjam = logjam
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
                f"--csv={path}", *flags]
        done = subprocess.run(line, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(line)}\nexited {done.returncode}: {done.stderr.strip()}")
        with open(path, newline="") as file:
            return next(csv.DictReader(file))

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


def run_experiments(parser, experiments):
    """Runs the experiments named by --only. `experiments` maps names to functions of a Bench, the
    arguments, and the flags for all runs."""
    parser.add_argument("--only", default=",".join(experiments))
    args = parser.parse_args()
    common = [f"--seconds={args.seconds}", "--warmup=0.5"]
    with Bench(args.logjam, args.wal_dir) as bench:
        for name in args.only.split(","):
            if name not in experiments:
                raise SystemExit(f"no experiment {name}: there are {', '.join(experiments)}")
            experiments[name](bench, args, common)
