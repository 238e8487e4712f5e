#!/usr/bin/env python3
"""Prints the floors: each with its lines and the floors that it includes, the longest files, and
the lines of code of every scheme file. Exits with 1 if an include points upwards."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLOORS = ROOT / "tests/style/floors.txt"
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
LONGEST = 5


def read_floors():
    """The floors from the bottom up, each a list of path prefixes."""
    lines = (line.split("#")[0].split() for line in FLOORS.read_text().splitlines())
    return [line for line in lines if line]


def floor_of(path, floors):
    """The number of the floor with the longest prefix of `path`, or None."""
    best = max(((len(prefix), number) for number, floor in enumerate(floors) for prefix in floor
                if path.startswith(prefix)), default=None)
    return best and best[1]


def code_lines(text):
    """Lines that are neither blank nor only a comment."""
    return sum(1 for line in text.splitlines() if not re.match(r"\s*(//.*)?$", line))


def main():
    floors = read_floors()
    names = subprocess.run(["git", "ls-files", "*.cc", "*.h"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split()
    texts = {name: (ROOT / name).read_text() for name in names if (ROOT / name).exists()}
    lines = [0] * len(floors)
    files = [0] * len(floors)
    below = [set() for _ in floors]
    upward = []
    for name, text in texts.items():
        own = floor_of(name, floors)
        if own is None:
            upward.append(f"{name} is on no floor: see {FLOORS.relative_to(ROOT)}")
            continue
        lines[own] += text.count("\n")
        files[own] += 1
        for header in INCLUDE.findall(text):
            other = floor_of(header, floors)
            if other is not None and other > own:
                upward.append(f"{name} includes {header}, which is above it")
            elif other is not None and other != own:
                below[own].add(other)

    print("FLOOR  FILES  LINES  ROOM, AND THE FLOORS THAT IT INCLUDES")
    for number in reversed(range(len(floors))):
        included = ", ".join(map(str, sorted(below[number]))) or "none"
        print(f"{number:5}  {files[number]:5}  {lines[number]:5}  {' '.join(floors[number])}"
              f"  -> {included}")
    print("\nLINES  LONGEST FILES")
    for name in sorted(texts, key=lambda name: -texts[name].count("\n"))[:LONGEST]:
        print(f"{texts[name].count(chr(10)):5}  {name}")
    print("\n CODE  SCHEME FILES (lines without comments and blanks)")
    for name in sorted(texts):
        if name.startswith("logging/schemes/"):
            print(f"{code_lines(texts[name]):5}  {name}")
    print(f"\n{len(upward)} upward includes")
    for what in upward:
        print(f"  {what}")
    return 1 if upward else 0


if __name__ == "__main__":
    sys.exit(main())
