#!/usr/bin/env python3
"""Tests whether the explorer would miss a missing acquire or release. The script makes the atomic
operations of one source line after another relaxed, and then a schedule must find a data race.

For each line, a few schedules of each scheme count the line's executions. All further schedules use
the scheme with the most executions. The table has for each line: the number of schedules until the
first race, the number of executions of the line, and the race.
"""

import collections
import os
import re
import subprocess
import tempfile

from rounds import ROOT, options  # also finds scripts/
from experiments.errors import Refused, run_main
from experiments.runner import schemes_of

SCOUTS = 3  # schedules of each scheme, which count the executions of a line
# The script weakens the operations of these files at their call sites.
SERVES_OTHERS = ("platform/atomic.h",)
# The program may have been built elsewhere.
PLACE = re.compile(r"^(?!/usr/).*?\b((?:logging|cc|engine|platform)/[^:]*):(\d+)")
CALL = re.compile(r"^\s*([0-9a-f]+):.*\bcall\s+[0-9a-f]+ <__tsan_atomic\d+_(\w+)>")
NEXT = re.compile(r"^\s*([0-9a-f]+):")
FOUND = re.compile(r"^seed +(\d+): (.*)$", re.MULTILINE)
SUM = re.compile(r"^explored +(\d+) schedules", re.MULTILINE)
MET = re.compile(r"^weakened +(\d+) ", re.MULTILINE)
ORDER = re.compile(r"memory_order_(acquire|release|acq_rel|seq_cst)")


def arguments():
    made = options(__doc__, "build-sim", rounds=200, seed=1)
    made.add_argument("--only", default="", help="files whose path contains this")
    made.add_argument("--loads", action="store_true", help="the acquiring loads, too")
    made.add_argument("--flags", default="", help="of the explorer: --log=poplar")
    return made.parse_args()


def call_sites(logjam):
    """Yields the address after each call of an atomic operation, and the operation's name."""
    listing = subprocess.Popen(["objdump", "-d", "--no-show-raw-insn", logjam],
                               stdout=subprocess.PIPE, text=True)
    operation = None
    for line in listing.stdout:
        after = NEXT.match(line)
        if operation and after:
            yield int(after[1], 16), operation
            operation = None
        call = CALL.match(line)
        if call:
            operation = call[2]
    listing.wait()


def lines_of(logjam, addresses):
    """Returns for each address the source line of its atomic operation, or None."""
    asked = "".join(f"{address - 1:x}\n" for address in addresses)
    answer = subprocess.run(["addr2line", "-a", "-i", "-e", logjam], input=asked,
                            stdout=subprocess.PIPE, text=True, check=True).stdout
    lines = []
    for line in answer.splitlines():
        if line.startswith("0x"):
            lines.append(None)
            continue
        place = PLACE.search(line)
        if lines[-1] is None and place and place[1] not in SERVES_OTHERS:
            lines[-1] = (place[1], int(place[2]))
    return lines


def statement(path, number):
    """Returns the text from this line to the end of the statement."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        text = "".join(file.readlines()[number - 1:number + 3])
    return " ".join(text.split(";")[0].split())


def explore(given, file, rounds, *flags):
    """Explores with the file's operations relaxed. Returns the number of schedules, the race, and
    how often the operations were executed."""
    done = subprocess.run([given.logjam, "explore", *flags, f"--seed={given.seed}",
                           f"--rounds={rounds}", f"weaken={file.name}"],
                          stdout=subprocess.PIPE, text=True, errors="replace", check=False)
    if not SUM.search(done.stdout):
        raise Refused(done.stdout)
    found = FOUND.search(done.stdout)
    return int(SUM.search(done.stdout)[1]), found and found[2], int(MET.search(done.stdout)[1])


def look_for_race(given, schemes, addresses):
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("".join(f"{address:x}\n" for address in addresses))
        file.flush()
        if given.flags:
            return explore(given, file, given.rounds, *given.flags.split())
        made, most, best = 0, 0, None
        for scheme in schemes:
            schedules, found, met = explore(given, file, SCOUTS, f"--log={scheme}")
            made += schedules
            if found:
                return made, found, met
            if met > most:
                most, best = met, scheme
        if best is None:
            return made, None, 0
        schedules, found, met = explore(given, file, given.rounds, f"--log={best}")
        return made + schedules, found, met


def main():
    given = arguments()
    sites = list(call_sites(given.logjam))
    groups = collections.defaultdict(list)
    for (address, operation), line in zip(sites, lines_of(given.logjam,
                                                          [site[0] for site in sites])):
        if line is None or given.only not in line[0] or (operation == "load" and not given.loads):
            continue
        if ORDER.search(statement(*line)):
            groups[line].append(address)
    found = met_at_all = 0
    schemes = schemes_of(given.logjam)
    for (path, number), addresses in sorted(groups.items()):
        schedules, what, met = look_for_race(given, schemes, addresses)
        found += what is not None
        met_at_all += met > 0
        print(f"{path}:{number}\t{schedules if what else '-'}\t{met}\t{what or 'nothing'}\t"
              f"{statement(path, number)[:80]}", flush=True)
    print(f"{found} found of {met_at_all} that were met, of {len(groups)}")


if __name__ == "__main__":
    run_main(main)
