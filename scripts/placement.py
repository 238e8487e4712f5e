#!/usr/bin/python3
"""The contexts that 1 to 128 workers get under each --placement, as Markdown.

The machines are hwloc's descriptions, so the tables are the same wherever they are made:

    scripts/placement.py > tests/golden/placement.md
"""

import argparse
import json
import subprocess

from experiments.errors import run_main
from experiments.runner import logjam_of

MACHINES = {
    "pack:4 numa:1 core:16 pu:2": "four sockets of 16 cores with two contexts each",
    "pack:2 core:8 pu:1": "two sockets of 8 cores, memory of one node",
    "pack:1 core:2 pu:2": "one socket of two cores with two contexts each",
}
WORKERS = 128
HEAD = f"""# Which context each worker gets

Made by `scripts/placement.py` of `logjam list placement --threads={WORKERS} --topology=MACHINE`. The first N
lines of a table are the placement of a run with N workers. A cell is `socket.core.sibling`, and
after # the number by which the kernel knows the context. With more workers than contexts the list
begins again.
"""


def placed(logjam, machine):
    """Returns the contexts of all workers, for each policy."""
    said = subprocess.run([logjam, "list", "placement", "--json", f"--threads={WORKERS}",
                           f"--topology={machine}"], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(said)["placement"]


def line(cells):
    return "| " + " | ".join(map(str, cells)) + " |"


def heading(cells):
    return [line(cells), "|" + "---|" * len(cells)]


def summary(policies):
    """Returns a table of how many sockets and cores N workers use, and how many share a core."""
    lines = heading(["workers", *(f"{name}: sockets, cores, most on a core" for name in policies)])
    for workers in (2 ** power for power in range(WORKERS.bit_length())):
        cells = [workers]
        for contexts in policies.values():
            taken = contexts[:workers]
            cores = [context["core"] for context in taken]
            most = max(map(cores.count, cores))
            cells.append(f"{len({one['socket'] for one in taken})}, {len(set(cores))}, {most}")
        lines.append(line(cells))
    return lines


def table(policies):
    contexts = len({context["number"] for context in next(iter(policies.values()))})
    lines = heading(["worker", *policies])
    for worker in range(min(contexts, WORKERS)):
        cells = (policy[worker] for policy in policies.values())
        lines.append(line([worker, *("{socket}.{core}.{sibling} #{number}".format(**cell)
                                     for cell in cells)]))
    if contexts < WORKERS:
        lines += ["", f"Worker {contexts} is where worker 0 is, and so on."]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logjam")
    args = parser.parse_args()
    lines = [HEAD]
    for machine, what in MACHINES.items():
        policies = placed(logjam_of(args.logjam), machine)
        lines += [f"## `{machine}`: {what}", "", *summary(policies), "", *table(policies), ""]
    print("\n".join(lines).rstrip())


if __name__ == "__main__":
    run_main(main)
