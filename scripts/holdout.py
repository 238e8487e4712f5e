#!/usr/bin/python3
"""The simulated machine against published curves of atomic operations and locks, to which nothing
was fitted.

For each point of config/holdout/david.csv, or of the file there that --curves names, it runs
`build-sim/logjam micro --sync` on the profile of that machine. Then it prints, for each curve and
each machine: how many points there are, the median and the 90th percentile of
|ln(simulated / published)|, the median of simulated over published, and the rank correlation
(Spearman) of both; of several curves, the median of theirs.

With --fit=KEY it first chooses for each machine the value of this key of its profile, of 0, 0.1, ...
and 1, with which the median error of the atomic operations is least. Locks have no part in that.
"""

import argparse
import csv
import json
import math
import pathlib
import subprocess
import sys
import tomllib

from experiments import files
from experiments.errors import number, program, run_main, whole
from experiments.store import write_rows

ROOT = pathlib.Path(__file__).resolve().parents[1]
LOCKS = ("tas", "ticket", "mcs", "clh")
FITTED = [tenth / 10 for tenth in range(11)]
HEADING = ("machine", "curve", "points", "median", "p90", "ratio", "rank")


def ranks(values):
    """Returns the rank of each value from 1 on; equal values share the mean of their ranks."""
    return [sum(other < value for other in values) + (values.count(value) + 1) / 2
            for value in values]


def rank_correlation(one, other):
    """Returns Spearman's coefficient, or None if all values of a list are equal."""
    one, other = ranks(one), ranks(other)
    mean = (len(one) + 1) / 2
    spread = math.sqrt(sum((a - mean) ** 2 for a in one) * sum((b - mean) ** 2 for b in other))
    if spread == 0:
        return None
    return sum((a - mean) * (b - mean) for a, b in zip(one, other)) / spread


def percentile(values, share):
    """Returns the value below which this share of the values is, between two of them if need be."""
    values = sorted(values)
    at = share * (len(values) - 1)
    low = math.floor(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


def summary(curves_of_group):
    """Returns points, median and 90th percentile of the error, the median of simulated over
    published, and the median of the curves' rank correlations, or None if no curve has one. Each
    curve is a list of (published, simulated)."""
    logs = [math.log(simulated / published)
            for curve in curves_of_group for published, simulated in curve]
    errors = [abs(log) for log in logs]
    correlations = [rank_correlation(*map(list, zip(*curve))) for curve in curves_of_group]
    known = [one for one in correlations if one is not None]
    return (len(logs), percentile(errors, 0.5), percentile(errors, 0.9),
            math.exp(percentile(logs, 0.5)), percentile(known, 0.5) if known else None)


class Simulation:
    """Runs points; a point that several curves need runs once."""

    def __init__(self, logjam, settings, seconds, seed, changes):
        self._logjam, self._settings = logjam, settings
        self._seconds, self._seed, self._changes = seconds, seed, changes
        self._known = {}

    def value(self, row):
        """Returns the simulated value of a row of the CSV file, in the row's unit."""
        machine, lines, threads = row["machine"], int(row["lines"]), int(row["threads"])
        if row["sync"] != "best":
            return self._rate(machine, row["sync"], lines, threads)
        locks = [self._settings[machine]["ticket"] if lock == "ticket" else lock for lock in LOCKS]
        best = max(self._rate(machine, lock, lines, threads) for lock in locks)
        if row["unit"] == "Mops/s":
            return best
        return best / max(self._rate(machine, lock, lines, 1) for lock in locks)

    def flags(self, machine, sync, lines, threads):
        """Returns the flags of one run."""
        profile = tomllib.loads((ROOT / "config/machines" / f"{machine}.toml").read_text())
        settings = self._settings[machine]
        sockets = -(-threads // profile["cores"]) if profile["sockets"] > 1 else 1
        farthest = min(sockets - 1, 2)
        pause = settings["pause_cycles"][farthest] if lines == 1 and threads > 1 else 0
        changes = [self._changes] if self._changes else []
        price = settings.get("rmw_cycles", {}).get(sync)
        if price is not None:
            changes.append(f"rmw_cycles={price}")
        if sync in settings.get("set", {}):
            changes.append(settings["set"][sync])
        return [f"--machine={machine}", f"--sync={sync}:{lines}:{pause / profile['ghz']:.1f}",
                f"--threads={threads}", f"--seconds={self._seconds}",
                f"--warmup={self._seconds / 5}", f"--sim_seed={self._seed}"] + (
                    [f"--set={','.join(changes)}"] if changes else [])

    def _rate(self, *point):
        if point not in self._known:
            self._known[point] = self._run(self.flags(*point))
        return self._known[point]

    def _run(self, flags):
        done = subprocess.run([self._logjam, "micro", *flags, "--json=-"], capture_output=True,
                              text=True, cwd=ROOT)
        if done.returncode != 0:
            raise SystemExit(f"holdout.py: {' '.join(flags)}: {done.stderr.strip()}")
        row = json.loads(done.stdout)
        # Zero has no ratio; one call is the least that the window can show.
        return max(row["calls"], 1) / row["seconds"] * 1e-6


def kind_of(row):
    """Returns whether a row of the CSV file is of atomic operations or of locks."""
    return "atomics" if row["figure"] in ("4", "atomics") else "locks"


def fit(key, rows, simulation_with):
    """Returns "key=value" with the value that has the least median error of the rows' atomics, the
    least one of equals. `simulation_with` returns the Simulation with such a change."""
    atomics = [row for row in rows if kind_of(row) == "atomics"]
    if not atomics:
        raise SystemExit("holdout.py: there are no atomic operations to fit to")

    def error(change):
        simulation = simulation_with(change)
        return summary([[(float(row["published"]), simulation.value(row)) for row in atomics]])[1]

    return min([f"{key}={value}" for value in FITTED], key=error)


def curves(points):
    """Returns (machine, name) -> curves: one curve each, then atomics and locks of a machine, then
    those of all machines. `points` are (row, simulated), curves (published, simulated) pairs."""
    groups = {}
    for row, simulated in points:
        kind = kind_of(row)
        curve = "best lock" if row["figure"] == "8" else row["curve"]
        locks = "lock" if row["lines"] == "1" else "locks"
        lines = "" if kind == "atomics" else f", {row['lines']} {locks}"
        figure = f"Fig. {row['figure']} " if row["figure"].isdigit() else ""
        one = (row["machine"], f"{figure}{curve}{lines}")
        for group in (one, (row["machine"], f"all {kind}"), ("all", f"all {kind}")):
            pair = (float(row["published"]), simulated)
            groups.setdefault(group, {}).setdefault(one, []).append(pair)
    in_order = sorted(groups, key=lambda group: (
        group[0] == "all", group[0], group[1].startswith("all")))
    return {group: list(groups[group].values()) for group in in_order}


def table(groups):
    """Returns the lines of the table that main() prints."""
    lines = [HEADING]
    for (machine, name), group in groups.items():
        points, median, p90, ratio, rank = summary(group)
        lines.append((machine, name, str(points), f"{median:.2f}", f"{p90:.2f}", f"{ratio:.2f}",
                      "-" if rank is None else f"{rank:.2f}"))
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADING))]
    return ["  ".join(cell.ljust(width) if i < 2 else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(line, widths))) for line in lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logjam", type=program, default=str(ROOT / "build-sim/logjam"))
    parser.add_argument("--curves", default="david", help="a file of config/holdout/: downs")
    parser.add_argument("--machine", help="only the points of this profile")
    parser.add_argument("--figure", help="only the points of this figure")
    parser.add_argument("--seconds", type=number, default=0.001, help="virtual seconds of a run")
    parser.add_argument("--seed", type=whole, default=1)
    parser.add_argument("--set", default="", help="as of logjam, for all runs: occupancy=0.3")
    parser.add_argument("--fit", metavar="KEY", help="fit this key of each profile to the atomics")
    parser.add_argument("--points", help="a CSV file for all points, published and simulated")
    arguments = parser.parse_args()
    if arguments.points:
        files.is_there(arguments.points)  # refuses a link and the like before anything runs
    curves_of = ROOT / "config/holdout" / arguments.curves
    settings, lines = (files.read_text(curves_of.with_suffix(end), links=True)
                       for end in (".toml", ".csv"))
    settings = tomllib.loads(settings)["machines"]
    rows = [row for row in csv.DictReader(lines.splitlines())
            if arguments.machine in (None, row["machine"])
            and arguments.figure in (None, row["figure"])]
    if not rows:
        raise SystemExit("holdout.py: there are no such points")

    def simulation_with(change):
        changes = ",".join(filter(None, (arguments.set, change)))
        return Simulation(arguments.logjam, settings, arguments.seconds, arguments.seed, changes)

    simulations = {}
    for machine in dict.fromkeys(row["machine"] for row in rows):
        change = ""
        if arguments.fit:
            of_machine = [row for row in rows if row["machine"] == machine]
            change = fit(arguments.fit, of_machine, simulation_with)
            print(f"{machine}: {change}", flush=True)
        simulations[machine] = simulation_with(change)
    points = [(row, simulations[row["machine"]].value(row)) for row in rows]
    if arguments.points:
        write_rows(pathlib.Path(arguments.points),
                   [{**row, "simulated": f"{simulated:.3f}"} for row, simulated in points])
    print("\n".join(table(curves(points))))
    return 0


if __name__ == "__main__":
    run_main(main)
