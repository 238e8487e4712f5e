"""Runs logjam several ways, in turn, and gives each way's median.

Two noisy cores: a single run proves nothing. The ways are interleaved (A B C, A B C, ...), so that
the machine's mood falls on all of them alike, and a ratio is the median of the rounds' ratios.
"""

import argparse
import csv
import os
import shutil
import statistics
import subprocess
import tempfile


class Bench:
    """One logjam binary and a directory for its logs; both are the caller's choice."""

    def __init__(self, logjam, log_dir):
        self.logjam = logjam
        os.makedirs(log_dir, exist_ok=True)
        self.log_dir = tempfile.mkdtemp(prefix="logjam-bench-", dir=log_dir)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.log_dir, ignore_errors=True)

    def run(self, flags, command="run"):
        """One run (or micro); returns its CSV row as a dict of strings."""
        path = os.path.join(self.log_dir, "row.csv")
        if os.path.exists(path):
            os.remove(path)
        line = [self.logjam, command, f"--log_dir={self.log_dir}", f"--csv={path}", *flags]
        done = subprocess.run(line, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(line)}\nexited {done.returncode}: {done.stderr.strip()}")
        with open(path, newline="") as file:
            return next(csv.DictReader(file))

    def interleave(self, ways, rounds, command="run"):
        """ways: name -> flags. Returns name -> list of rows, one for each round."""
        rows = {name: [] for name in ways}
        for _ in range(rounds):
            for name, flags in ways.items():
                rows[name].append(self.run(flags, command))
        return rows


def schemes(logjam, but=("none",)):
    """The log schemes, all of them but those: name -> the device that it needs, "" if any will do."""
    listed = subprocess.run([logjam, "list", "schemes"], capture_output=True, text=True, check=True)
    lines = [line.split() for line in listed.stdout.splitlines()[1:] if line.strip()]
    return {name: "" if device == "any" else device for name, device, *_ in lines if name not in but}


def median(rows, column):
    return statistics.median(float(row[column]) for row in rows)


def ratio(rows, other, column="tps"):
    """Median over rounds of rows/other, round by round."""
    return statistics.median(
        float(a[column]) / float(b[column]) if float(b[column]) else float("nan")
        for a, b in zip(rows, other)
    )


def table(heading, lines):
    """Prints aligned columns, numbers to the right."""
    cells = [heading] + [[str(cell) for cell in line] for line in lines]
    widths = [max(len(line[i]) for line in cells) for i in range(len(heading))]
    for line in cells:
        print("  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths))
        ))


def common_arguments(description, log_dir=".", rounds=3, seconds=2):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--logjam", default="build/logjam")
    parser.add_argument("--log_dir", default=log_dir)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--seconds", type=float, default=seconds)
    return parser


def run_experiments(parser, experiments):
    """experiments: name -> function of a Bench, the arguments, and flags for all runs."""
    parser.add_argument("--only", default=",".join(experiments))
    args = parser.parse_args()
    common = [f"--seconds={args.seconds}", "--warmup=0.5"]
    with Bench(args.logjam, args.log_dir) as bench:
        for name in args.only.split(","):
            if name not in experiments:
                raise SystemExit(f"no experiment {name}: there are {', '.join(experiments)}")
            experiments[name](bench, args, common)
