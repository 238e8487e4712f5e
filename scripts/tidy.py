#!/usr/bin/env python3
"""Runs clang-tidy over all sources except the tests, several at once.

usage: scripts/tidy.py [REVISION]    from the root; `make tidy` writes the flags first

Omits the sources of the simulated build, which clang does not compile ($SIMULATED names them). With
a REVISION, the script checks only sources that have changed since then or that include a changed
header. A change of comments does not count, because it changes no finding. If the checks of
clang-tidy have changed, the script checks all sources.

clang-tidy spends most of its time on headers, so it reads the sources joined into a few units
(scripts/batches.py). The script also compiles each source and each test alone, to find missing
includes. The exit status is 1 if there is a finding.
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys

from experiments.errors import end_with_usage, run_main
from lint import strip

UNITS = "build-tidy"
CHECKS = {".clang-tidy"}


def original_lines(unit):
    """Returns the original file and line for each line of a unit, counted from 1."""
    lines, file, number = [""], "", 0
    with open(unit, encoding="utf-8") as text:
        for line in text:
            begin = re.match(r'#line 1 "(.*)"', line)
            file, number = (begin[1], 0) if begin else (file, number + 1)
            lines.append(f"{file}:{number}")
    return lines


def run(command):
    """Runs a command, and prints its findings. Returns whether it has none."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode == 0:
        return True
    # clang-tidy's own checks ignore #line, unlike clang's messages.
    lines = {unit: original_lines(unit) for unit in command if unit.startswith(UNITS)}
    print(re.sub(r"^\S*(" + UNITS + r"/\S+?):(\d+)", lambda place: lines[place[1]][int(place[2])],
                 done.stdout, flags=re.M), end="", flush=True)
    return False


def differs(old, new):
    """Returns whether two texts in C++ differ in more than comments and spaces."""
    def code(text):
        return strip(text.replace("// NOLINT", "NOLINT"), True).split()  # a NOLINT changes findings

    return code(old) != code(new)


def code_changed(revision, path):
    if not path.endswith((".cc", ".h")) or not os.path.exists(path):
        return False
    old = subprocess.run(["git", "show", f"{revision}:{path}"], text=True, check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    with open(path, encoding="utf-8") as file:
        return differs(old, file.read())


def changed_since(revision, sources):
    """Returns the changed sources, and the sources that changed or include a changed header."""
    names = subprocess.run(["git", "diff", "--name-only", revision], text=True, check=True,
                           stdout=subprocess.PIPE).stdout.split()
    if CHECKS.intersection(names):
        return sources, sources
    names = {name for name in names if code_changed(revision, name)}
    headers = {name for name in names if name.endswith(".h")}

    def includes_changed(path):
        with open(path, encoding="utf-8") as file:
            return not headers.isdisjoint(re.findall(r'^#include "(.*)"', file.read(), re.M))

    changed = [path for path in sources if path in names]
    return changed, [path for path in sources if path in names or includes_changed(path)]


def main():
    end_with_usage(__doc__)
    with open("build-clang/compile_commands.json", encoding="utf-8") as file:
        commands = {entry["file"]: entry["arguments"] for entry in json.load(file)
                    if entry["file"] not in os.environ.get("SIMULATED", "").split()}
    changed = paths = list(commands)
    if len(sys.argv) > 1:
        changed, paths = changed_since(sys.argv[1], paths)
    # As in the Makefile, clang does not check which latch or role a test holds.
    alone = [[*commands[path][:-2], *["-Wno-thread-safety"] * path.startswith("tests/"),
              "-fsyntax-only", path] for path in changed]
    product = [path for path in paths if not path.startswith("tests/")]
    units = []
    if product:
        units = subprocess.run(["scripts/batches.py", UNITS, *product], text=True, check=True,
                               stdout=subprocess.PIPE).stdout.split()
    # The largest units start first, so that no unit delays the end.
    largest_first = sorted(units, key=lambda unit: -os.path.getsize(unit))
    flags = next(iter(commands.values()))[1:-2]
    jobs = [["clang-tidy", "-quiet", unit, "--", *flags] for unit in largest_first] + alone
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = list(pool.map(run, jobs)).count(False)
    print(f"clang-tidy: {len(product)} files in {len(units)} units, and {len(changed)} files "
          f"compiled alone; {failed} of {len(jobs)} had findings")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    run_main(main)
