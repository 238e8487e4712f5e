#!/usr/bin/python3
"""Fuzzes the targets of tests/fuzz/ with libFuzzer, one after the other; prints a line for each.

usage: scripts/fuzz.py [--seconds=60] [--runs=N] [--seed=1] [TARGET...]

A target begins with the inputs of tests/fuzz/corpus/ and with the inputs in build-fuzz/corpus/ from
earlier runs. It adds inputs that reach new code. A crash, a sanitizer's report, more than 10 s or
more than 2 GB is a finding: the script saves the input in build-fuzz/findings/, prints the end of
the output, and exits with 1. `LOGJAM_FUZZ=TARGET build-fuzz/fuzz FILE` runs an input again.
build-fuzz/fuzz.csv has a line for each run of a target.
"""
import argparse
import datetime
import os
import pathlib
import re
import subprocess
import sys
import time

from experiments import files
from experiments.errors import run_main, whole

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build-fuzz"
FUZZ = BUILD / "fuzz"
FIELDS = ["time", "target", "seed", "seconds", "executions", "edges", "features", "inputs",
          "result"]
LAST_LINES = 40


def all_targets():
    lines = subprocess.run([FUZZ], text=True, stdout=subprocess.PIPE, check=True).stdout.split("\n")
    return {name: int(most) for name, most in (line.split() for line in lines if line)}


def fuzz(target, most_bytes, given):
    """Runs a target. Returns its line of the table, and the output's end if there is a finding."""
    grown, found = BUILD / "corpus" / target, BUILD / "findings" / target
    for folder in (grown, found):
        folder.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    run = subprocess.run(
        [FUZZ, f"-max_len={most_bytes}", f"-max_total_time={given.seconds}", f"-runs={given.runs}",
         f"-seed={given.seed}", "-timeout=10", "-rss_limit_mb=2048", "-close_fd_mask=1",
         "-print_funcs=0", "-print_final_stats=1", f"-artifact_prefix={found}/", grown,
         ROOT / "tests/fuzz/corpus" / target],
        cwd=ROOT, env={**os.environ, "LOGJAM_FUZZ": target}, text=True, errors="replace",
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, check=False)
    seconds = time.monotonic() - begin
    executions = re.findall(r"^stat::number_of_executed_units: (\d+)", run.stderr, re.M)
    reached = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", run.stderr)
    line = [datetime.datetime.now().isoformat(timespec="seconds"), target, given.seed,
            f"{seconds:.0f}", int(executions[-1]) if executions else 0,
            *(reached[-1] if reached else ("0", "0", "0")),
            "clean" if run.returncode == 0 else "found"]
    return dict(zip(FIELDS, line)), run.stderr.split("\n")[-LAST_LINES:] if run.returncode else []


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=whole, default=60, help="for each target; 0: no limit")
    parser.add_argument("--runs", type=whole, default=-1, help="executions of each target; -1: any")
    parser.add_argument("--seed", type=whole, default=1)
    parser.add_argument("target", nargs="*")
    given = parser.parse_args()
    targets = all_targets()
    for name in given.target:
        if name not in targets:
            parser.error(f"there is no target {name}; there are {', '.join(targets)}")
    found = False
    print(f"{'target':12} {'executions':>11} {'a second':>9} {'edges':>6} {'inputs':>6}  result",
          flush=True)
    for name in given.target or targets:
        line, output = fuzz(name, targets[name], given)
        files.append_row(BUILD / "fuzz.csv", line)
        rate = line["executions"] / max(float(line["seconds"]), 1)
        print(f"{name:12} {line['executions']:11} {rate:9.0f} {line['edges']:>6} "
              f"{line['inputs']:>6}  {line['result']}", flush=True)
        print(*output, sep="\n", end="\n" if output else "", flush=True)
        found = found or bool(output)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    run_main(main)
