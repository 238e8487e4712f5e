#!/usr/bin/env python3
"""Explores schedules on all cores. Runs `build-sim/logjam explore` with seed after seed, for every
log scheme in turn, until it has made the rounds or has a finding.

A campaign's file keeps the next seed of each scheme and the counts so far, so the same command
continues a stopped campaign. The file `blocks` beside it contains the reached basic blocks. With
--reached, the script runs no round: it counts the reached blocks of each folder, by
build-sim/logjam.blocks, and names the functions that were never entered. (An inline function counts
where the compiler put it.)
The script prints the command that repeats each finding, and keeps the finding's output.
"""

import collections
import json
import os
import re
import struct
import subprocess
import threading
import time

from rounds import ROOT, options  # also finds scripts/
from experiments import files
from experiments.errors import Refused, run_main
from experiments.runner import schemes_of
from experiments.text_tables import print_lines

SUMS = ("schedules", "crashes", "steps", "switches", "blocks")
SUM = re.compile(r"^explored +(?P<schedules>\S+) schedules, (?P<crashes>\S+) crashes, "
                 r"(?P<steps>\S+) steps, (?P<switches>\S+) switches, (?P<blocks>\S+) blocks",
                 re.MULTILINE)

HEADER = struct.Struct("<8s4Q")  # written by scripts/block_costs.py
ADDRESSES_A_BIT, BITS_A_BYTE = 4, 8  # as in sim/coverage.h
FOLDERS = ("logging/schemes", "logging/stream", "logging/format", "logging/device", "logging", "cc",
           "engine/recovery", "engine/checkpoint", "engine/storage", "engine/run", "proof")


def arguments():
    made = options(__doc__, "build-sim", rounds=1000, seed=1, piece=100, jobs=os.cpu_count())
    made.add_argument("--schemes", default="", help="some of them, separated by commas")
    made.add_argument("--out", default=os.path.join(ROOT, "build", "explore"),
                      help="the directory of the campaign's file")
    made.add_argument("--reached", action="store_true", help="say what the campaign has reached")
    return made.parse_args()


def revision_of(logjam):
    return subprocess.run([logjam, "--version"], stdout=subprocess.PIPE, text=True,
                          check=False).stdout.strip()


class Campaign:
    """The rounds that are left and the results so far. The threads share them under `lock`."""

    def __init__(self, given):
        self.given = given
        self.lock = threading.Lock()
        self.began = time.monotonic()
        self.found = []
        self.busy = set()
        os.makedirs(given.out, exist_ok=True)
        self.path = os.path.join(given.out, "campaign.json")
        kept = {"revision": revision_of(given.logjam), "schemes": {}}
        if os.path.exists(self.path):
            earlier = json.loads(files.read_text(self.path))
            if earlier["revision"] != kept["revision"]:
                raise Refused(f"{self.path} is of {earlier['revision']}, and the program is of "
                              f"{kept['revision']}: remove the file, or give another --out")
            kept = earlier
        self.kept, self.schemes = kept, kept["schemes"]
        known = list(schemes_of(given.logjam))
        self.names = given.schemes.split(",") if given.schemes else known
        unknown = sorted(set(self.names) - set(known))
        if unknown:
            raise Refused(f"{', '.join(unknown)} cannot be explored; {', '.join(known)} can")
        for name in self.names:
            self.schemes.setdefault(name, {"next": given.seed, **dict.fromkeys(SUMS, 0)})
        self.before = self.explored()

    def explored(self):
        return sum(scheme["schedules"] for scheme in self.schemes.values())

    def take(self):
        """Returns the next piece: a scheme, its first seed and the number of seeds; or None."""
        with self.lock:
            end = self.given.seed + self.given.rounds
            names = [name for name in self.names
                     if name not in self.busy and self.schemes[name]["next"] < end]
            if self.found or not names:
                return None
            name = min(names, key=lambda one: self.schemes[one]["next"])
            self.busy.add(name)
            seed = self.schemes[name]["next"]
            return name, seed, min(self.given.piece, end - seed)

    def explore(self, name, seed, count):
        command = [self.given.logjam, "explore", f"--log={name}", f"--seed={seed}",
                   f"--rounds={count}", f"blocks={self.given.out}/blocks"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False)
        sums = SUM.search(done.stdout)
        with self.lock:
            scheme = self.schemes[name]
            self.busy.remove(name)
            for key in SUMS if sums else ():
                value = int(float(sums[key]))
                scheme[key] = max(scheme[key], value) if key == "blocks" else scheme[key] + value
            if done.returncode == 0:
                scheme["next"] = seed + count
            else:
                path = os.path.join(self.given.out, f"found-{name}-{seed}.txt")
                files.write(path, " ".join(command) + "\n" + done.stdout)
                self.found.append(done.stdout)
            files.write(self.path, json.dumps(self.kept, indent=1))
            self.print_progress(name)

    def print_progress(self, name):
        minutes = (time.monotonic() - self.began) / 60
        crashes = sum(scheme["crashes"] for scheme in self.schemes.values())
        print(f"{self.explored()} schedules, {crashes} crashes, "
              f"{self.schemes[name]['blocks']} blocks; "
              f"{(self.explored() - self.before) / minutes:.0f} schedules a minute; {name}",
              flush=True)

    def work(self):
        while (piece := self.take()) is not None:
            self.explore(*piece)


def places_of(logjam, addresses):
    """Yields the function and the source file of each address."""
    asked = "\n".join(f"{address - 1:x}" for address in addresses)
    told = subprocess.run(["addr2line", "-C", "-f", "-e", logjam], input=asked, text=True,
                          stdout=subprocess.PIPE, check=True).stdout.splitlines()
    for function, line in zip(told[::2], told[1::2]):
        # The program may have been built elsewhere.
        path = re.search(r"(?:^|/)((?:logging|cc|engine|proof)/[^:]*)", line)
        yield re.sub(r"\(.*", "", function), path[1] if path else ""


def print_reached(given):
    with open(os.path.join(given.out, "blocks"), "rb") as file:
        reached = file.read()
    with open(given.logjam + ".blocks", "rb") as file:
        content = file.read()
    begin = HEADER.unpack_from(content)[1]
    blocks = [at for at, cost in enumerate(content[HEADER.size:]) if cost]
    known, entered, functions = (collections.Counter() for _ in range(3))
    for at, (function, path) in zip(blocks, places_of(given.logjam, [begin + at for at in blocks])):
        folder = next((folder for folder in FOLDERS if path.startswith(folder + "/")), None)
        if folder:
            bit = at // ADDRESSES_A_BIT
            hit = reached[bit // BITS_A_BYTE] >> bit % BITS_A_BYTE & 1
            known[folder] += 1
            entered[folder] += hit
            functions[path, function] += hit
    print_lines(["folder", "blocks", "reached", "share"], [
        [folder, known[folder], entered[folder], f"{100 * entered[folder] / known[folder]:.0f}%"]
        for folder in filter(known.get, FOLDERS)])
    never = sorted(place for place, hits in functions.items() if not hits)
    print(f"{len(never)} of {len(functions)} functions were never entered")
    for path, function in never:
        print(f"  {path}: {function}")


def main():
    given = arguments()
    if given.reached:
        return print_reached(given)
    campaign = Campaign(given)
    threads = [threading.Thread(target=campaign.work) for _ in range(campaign.given.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for found in campaign.found:
        print(found)
    columns = ["schedules", "crashes", "steps", "blocks"]
    print_lines(["scheme", *columns], [[name, *(f"{scheme[column]}" for column in columns)]
                                       for name, scheme in campaign.schemes.items()])
    return 1 if campaign.found else 0


if __name__ == "__main__":
    run_main(main)
