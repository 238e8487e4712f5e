#!/usr/bin/env python3
"""Runs clang-tidy over all sources but the tests, several at once.

usage: scripts/tidy.py    from the root, after make compile_commands.json

clang-tidy spends most of its time in headers, so it reads the sources joined into a few units
(scripts/batches.py). Each source is also compiled alone, without precompiled headers, so that one
that lacks an include is found. Ends with status 1 if there is a finding.
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys

UNITS = "build-tidy"


def original_lines(unit):
    """Returns for each line of a unit, counted from 1, the file and the line that it comes from."""
    lines, file, number = [""], "", 0
    with open(unit, encoding="utf-8") as text:
        for line in text:
            begin = re.match(r'#line 1 "(.*)"', line)
            file, number = (begin[1], 0) if begin else (file, number + 1)
            lines.append(f"{file}:{number}")
    return lines


def run(command):
    """Returns whether the command found nothing, after printing what it found."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode == 0:
        return True
    # clang-tidy's checks forget the #line, clang's own messages do not.
    lines = {unit: original_lines(unit) for unit in command if unit.startswith(UNITS)}
    print(re.sub(r"^\S*(" + UNITS + r"/\S+?):(\d+)", lambda place: lines[place[1]][int(place[2])],
                 done.stdout, flags=re.M), end="", flush=True)
    return False


def main():
    with open("compile_commands.json", encoding="utf-8") as file:
        commands = {entry["file"]: entry["arguments"] for entry in json.load(file)
                    if not entry["file"].startswith("tests/")}
    # A unit's files have the same flags.
    by_flags = {}
    alone = []
    for path, arguments in commands.items():
        flags = [flag for flag in arguments[1:arguments.index("-c")] if not flag.startswith("-M")]
        alone.append([arguments[0], *flags, "-fsyntax-only", path])
        by_flags.setdefault(tuple(flags), []).append(path)
    units = {}
    for number, (flags, paths) in enumerate(by_flags.items()):
        listed = subprocess.run(["scripts/batches.py", f"{UNITS}/{number}", *paths], text=True,
                                stdout=subprocess.PIPE, check=True).stdout
        units.update(dict.fromkeys(listed.split(), flags))
    # The largest first, so that none of them holds up the end.
    largest_first = sorted(units, key=lambda unit: -os.path.getsize(unit))
    jobs = [["clang-tidy", "-quiet", unit, "--", *units[unit]] for unit in largest_first] + alone
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = list(pool.map(run, jobs)).count(False)
    print(f"clang-tidy: {len(commands)} files in {len(units)} units and each alone; {failed} of "
          f"{len(jobs)} had findings")
    sys.exit(1 if failed or not commands else 0)


if __name__ == "__main__":
    main()
