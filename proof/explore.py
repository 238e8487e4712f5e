#!/usr/bin/env python3
"""Explores schedules on all cores: seed after seed of `build-sim/logjam explore`, for every family
of log schemes and every protocol in turn, until the rounds are made or something is found.

A campaign's file keeps the next seed of each family, and what was explored so far: the same command
goes on where it was stopped. What is found is printed with the command that finds it again, and its
output is kept beside the file.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FAMILIES = {
    "centralized": ["centr", "centr-faa", "centr-lockflush"],
    "aether": ["aether-c", "aether-d", "aether-cd", "aether-cde", "aether-cd-socket"],
    "distributed": ["dlog-r", "dlog-s"],
    "eleda": ["eleda", "eleda-crawl", "eleda-bitmap"],
    "pwal": ["pwal"],
    "poplar": ["poplar"],
    "silo": ["silo"],
    "nvm": ["nvmd", "nvlog"],
    "command": ["command"],
}
SUMS = ("schedules", "crashes", "steps", "switches", "blocks")
SUM = re.compile(r"^explored +(?P<schedules>\S+) schedules, (?P<crashes>\S+) crashes, "
                 r"(?P<steps>\S+) steps, (?P<switches>\S+) switches, (?P<blocks>\S+) blocks",
                 re.MULTILINE)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=1000, help="of each family")
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument("--families", default=",".join(FAMILIES),
                        help="some of " + ", ".join(FAMILIES))
    parser.add_argument("--piece", type=int, default=100, help="seeds that one process explores")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--logjam", default=os.path.join(ROOT, "build-sim", "logjam"))
    parser.add_argument("--out", default=os.path.join(ROOT, "build", "explore"),
                        help="the directory of the campaign's file")
    given = parser.parse_args()
    unknown = set(given.families.split(",")) - set(FAMILIES)
    if unknown:
        parser.error(f"no families: {', '.join(sorted(unknown))}; there are {', '.join(FAMILIES)}")
    return given


class Campaign:
    """What is to be explored, and what was. Its threads share it under `lock`."""

    def __init__(self, given):
        self.given = given
        self.lock = threading.Lock()
        self.began = time.monotonic()
        self.found = []
        os.makedirs(given.out, exist_ok=True)
        self.path = os.path.join(given.out, "campaign.json")
        self.families = {}
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                self.families = json.load(file)
        for family in given.families.split(","):
            self.families.setdefault(family, {"next": given.seed, **dict.fromkeys(SUMS, 0)})
        self.before = self.explored()

    def explored(self):
        return sum(family["schedules"] for family in self.families.values())

    def take(self):
        """Returns a family's scheme, the first seed and the number of a piece, or None."""
        with self.lock:
            if self.found:
                return None
            names = [name for name in self.given.families.split(",")
                     if self.families[name]["next"] < self.given.seed + self.given.rounds]
            if not names:
                return None
            name = min(names, key=lambda one: self.families[one]["next"])
            seed = self.families[name]["next"]
            count = min(self.given.piece, self.given.seed + self.given.rounds - seed)
            self.families[name]["next"] += count
            schemes = FAMILIES[name]
            return name, schemes[seed // self.given.piece % len(schemes)], seed, count

    def explore(self, name, scheme, seed, count):
        command = [self.given.logjam, "explore", f"--log={scheme}", f"--seed={seed}",
                   f"--rounds={count}"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False)
        sums = SUM.search(done.stdout)
        with self.lock:
            family = self.families[name]
            for key in SUMS if sums else ():
                value = int(float(sums[key]))
                family[key] = max(family[key], value) if key == "blocks" else family[key] + value
            if done.returncode != 0:
                kept = os.path.join(self.given.out, f"found-{scheme}-{seed}.txt")
                with open(kept, "w", encoding="utf-8") as file:
                    file.write(" ".join(command) + "\n" + done.stdout)
                self.found.append(done.stdout)
            self.keep()
            self.print_progress(name)

    def keep(self):
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.families, file, indent=1)
        os.replace(self.path + ".new", self.path)

    def print_progress(self, name):
        minutes = (time.monotonic() - self.began) / 60
        crashes = sum(family["crashes"] for family in self.families.values())
        print(f"{self.explored()} schedules, {crashes} crashes; "
              f"{(self.explored() - self.before) / minutes:.0f} schedules a minute; {name}: "
              f"{self.families[name]['blocks']} blocks in a piece", flush=True)

    def work(self):
        while (piece := self.take()) is not None:
            self.explore(*piece)


def main():
    campaign = Campaign(arguments())
    threads = [threading.Thread(target=campaign.work) for _ in range(campaign.given.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for found in campaign.found:
        print(found)
    print(f"{'family':12} {'schedules':>10} {'crashes':>10} {'steps':>12} {'blocks':>8}")
    for name, family in campaign.families.items():
        print(f"{name:12} {family['schedules']:10} {family['crashes']:10} {family['steps']:12.3g} "
              f"{family['blocks']:8}")
    return 1 if campaign.found else 0


if __name__ == "__main__":
    sys.exit(main())
