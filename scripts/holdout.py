#!/usr/bin/python3
"""Compares the simulated machine with published curves of atomic operations and locks. No constant
of the simulation was fitted to these curves.

For each point of config/holdout/david.csv, or of another file there (--curves), the script runs
`build-sim/logjam micro --primitive` on the profile of the point's machine. Then it prints for each curve
and each machine: the number of points, the median and the 90th percentile of
|ln(simulated / published)|, the median of simulated / published, and the rank correlation
(Spearman) of simulated and published. For several curves it prints the median of their values.

With --fit=KEY the script first chooses a value for this key of each machine's profile. It is 0,
0.1, ... or 1: the value with the least median error of the atomic operations, without locks.
"""

import json
import math
import pathlib
import statistics
import subprocess

from experiments import files, tomllib
from experiments.errors import Refused, number, parser, program, run_main, whole
from experiments.store import write_rows
from experiments.text_tables import print_lines

import numpy  # after experiments, which finds it in a virtual environment
from scipy import stats

ROOT = pathlib.Path(__file__).resolve().parents[1]
LOCKS = ("tas", "ticket", "mcs", "clh")
FITTED = [tenth / 10 for tenth in range(11)]
HEADING = ("machine", "curve", "points", "median", "p90", "ratio", "rank")


def summary(curves_of_group):
    """Returns the number of points, median error, 90th percentile, median ratio, correlation."""
    logs = [math.log(simulated / published)
            for curve in curves_of_group for published, simulated in curve]
    errors = [abs(log) for log in logs]
    known = [stats.spearmanr(curve).statistic for curve in curves_of_group
             if all(len(set(values)) > 1 for values in zip(*curve))]
    return (len(logs), statistics.median(errors), numpy.percentile(errors, 90),
            math.exp(statistics.median(logs)), statistics.median(known) if known else None)


class Simulation:
    """Runs points. A point of several curves runs only once."""

    def __init__(self, logjam, settings, seconds, seed, changes):
        self._logjam, self._settings = logjam, settings
        self._seconds, self._seed, self._changes = seconds, seed, changes
        self._known = {}

    def value(self, row):
        machine, lines, threads = row["machine"], int(row["lines"]), int(row["threads"])
        if row["sync"] != "best":
            return self._rate(machine, row["sync"], lines, threads)
        locks = [self._settings[machine]["ticket"] if lock == "ticket" else lock for lock in LOCKS]
        best = max(self._rate(machine, lock, lines, threads) for lock in locks)
        if row["unit"] == "Mops/s":
            return best
        return best / max(self._rate(machine, lock, lines, 1) for lock in locks)

    def flags(self, machine, sync, lines, threads):
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
        return [f"--machine={machine}", f"--primitive={sync}:{lines}:{pause / profile['ghz']:.1f}",
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
            raise Refused(f"{' '.join(flags)}: {done.stderr.strip()}")
        row = json.loads(done.stdout)
        # A ratio needs a rate above zero, so a run without a complete call counts as one call.
        return max(row["calls"], 1) / row["seconds"] * 1e-6


def kind_of(row):
    return "atomics" if row["figure"] in ("4", "atomics") else "locks"


def fit(key, rows, simulation_with):
    """Returns the first "key=value" with the least median error of the rows' atomics."""
    atomics = [row for row in rows if kind_of(row) == "atomics"]
    if not atomics:
        raise Refused("there are no atomic operations to fit to")

    def error(change):
        simulation = simulation_with(change)
        return summary([[(float(row["published"]), simulation.value(row)) for row in atomics]])[1]

    return min([f"{key}={value}" for value in FITTED], key=error)


def curves(points):
    """Maps (machine, name) to lists of (published, simulated): curves, then groups of curves."""
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
    return [[*of, *(None if value is None else round(value, 2) for value in summary(group))]
            for of, group in groups.items()]


def main():
    made = parser(__doc__)
    made.add_argument("--logjam", type=program, default=str(ROOT / "build-sim/logjam"))
    made.add_argument("--curves", default="david", help="a file of config/holdout/: downs")
    made.add_argument("--machine", help="only the points of this profile")
    made.add_argument("--figure", help="only the points of this figure")
    made.add_argument("--seconds", type=number, default=0.001, help="virtual seconds of a run")
    made.add_argument("--seed", type=whole, default=1)
    made.add_argument("--set", default="", help="as of logjam, for all runs: occupancy=0.3")
    made.add_argument("--fit", metavar="KEY", help="fit this key of each profile to the atomics")
    made.add_argument("--points", help="a CSV file for all points, published and simulated")
    arguments = made.parse_args()
    if arguments.points:
        files.is_there(arguments.points)  # refuses a link before the first run
    curves_of = ROOT / "config/holdout" / arguments.curves
    settings = tomllib.loads(files.read_text(curves_of.with_suffix(".toml"), links=True))["machines"]
    rows = [row for row in files.read_rows(curves_of.with_suffix(".csv"), links=True)
            if arguments.machine in (None, row["machine"])
            and arguments.figure in (None, row["figure"])]
    if not rows:
        raise Refused("there are no such points")

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
    print_lines(HEADING, table(curves(points)))


if __name__ == "__main__":
    run_main(main)
