#!/usr/bin/env python3
"""Says which basic blocks the explorer's campaign has reached, folder by folder, and which
functions it never entered: usage: explored_blocks.py [--out DIR] [--functions]

The blocks are those of the instrumented code (build-sim/logjam.blocks); an inline function counts
where the compiler put it.
"""

import argparse
import collections
import os
import re
import struct
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(ROOT, "scripts"))

from experiments.errors import run_main  # noqa: E402

HEADER = struct.Struct("<8s4Q")  # scripts/block_costs.py
ADDRESSES_A_BIT, BITS_A_BYTE = 4, 8  # sim/explore/coverage.h
FOLDERS = ("logging/schemes", "logging/stream", "logging/format", "logging/device", "logging", "cc",
           "engine/recovery", "engine/checkpoint", "engine/storage", "engine/run", "proof")


def blocks_of(logjam):
    """Returns where the code begins, and the offset of each block."""
    with open(logjam + ".blocks", "rb") as file:
        content = file.read()
    begin = HEADER.unpack_from(content)[1]
    costs = content[HEADER.size:]
    return begin, [at for at, cost in enumerate(costs) if cost]


def places_of(logjam, addresses):
    """Returns the function and the source file of each address."""
    asked = "\n".join(f"{address - 1:x}" for address in addresses)
    told = subprocess.run(["addr2line", "-C", "-f", "-e", logjam], input=asked, text=True,
                          stdout=subprocess.PIPE, check=True).stdout.splitlines()
    for function, line in zip(told[::2], told[1::2]):
        # The program may have been built elsewhere.
        path = re.search(r"(?:^|/)((?:logging|cc|engine|proof)/[^:]*)", line)
        yield re.sub(r"\(.*", "", function), path[1] if path else ""


def folder_of(path):
    return next((folder for folder in FOLDERS if path.startswith(folder + "/")), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", default=os.path.join(ROOT, "build", "explore"),
                        help="the campaign's directory")
    parser.add_argument("--logjam", default=os.path.join(ROOT, "build-sim", "logjam"))
    parser.add_argument("--functions", action="store_true", help="list those never entered")
    given = parser.parse_args()
    try:
        with open(os.path.join(given.out, "blocks"), "rb") as file:
            reached = file.read()
    except OSError as error:
        sys.exit(f"{given.out} has no campaign: {error.strerror}")
    begin, blocks = blocks_of(given.logjam)
    known, entered = collections.Counter(), collections.Counter()
    functions = {}
    for at, (function, path) in zip(blocks, places_of(given.logjam, [begin + at for at in blocks])):
        folder = folder_of(path)
        if folder is None:
            continue
        bit = at // ADDRESSES_A_BIT
        hit = reached[bit // BITS_A_BYTE] >> bit % BITS_A_BYTE & 1
        known[folder] += 1
        entered[folder] += hit
        functions[path, function] = functions.get((path, function), 0) + hit
    print(f"{'folder':18} {'blocks':>7} {'reached':>8} {'share':>6}")
    for folder in FOLDERS:
        if known[folder]:
            print(f"{folder:18} {known[folder]:7} {entered[folder]:8} "
                  f"{100 * entered[folder] / known[folder]:5.0f}%")
    never = sorted(place for place, hits in functions.items() if not hits)
    print(f"{len(never)} of {len(functions)} functions were never entered")
    for path, function in never if given.functions else ():
        print(f"  {path}: {function}")


if __name__ == "__main__":
    run_main(main)
