#!/usr/bin/python3
"""Compares the simulated machine with published curves of atomic operations and locks. No constant
of the simulation was fitted to these curves.

For each point of config/holdout/david.csv, or of another file there (--curves), the script runs
`build-sim/logjam micro --primitive` on the profile of the point's machine. With --judge=FILE it takes
earlier points in place of runs. It prints two tables. The first table judges the order of two
alternatives of a machine with equal threads (experiments/validation.py). The second table has for
each curve and each machine:

  points         the number of points
  median, p90    of |ln(simulated / published)|
  ratio          the median of simulated / published
  shape, p90     median and 90th percentile of the same errors, if each curve is first multiplied by the
                 factor that makes its median ratio 1; without curves of one point
  rank           the rank correlation (Spearman); of several curves, the median of their correlations

With --fit=KEY the script first chooses a value for this key of each machine's profile. It is 0,
0.1, ... or 1: the value with the least median error of the atomic operations, without locks.

With --predict=FILE the script runs the points of config/holdout/manycore.csv instead, compares
nothing, and writes what the simulated machines predict. --compare=FILE prints such predictions
beside the published values.
"""

import functools
import itertools
import json
import math
import pathlib
import re
import statistics
import subprocess
import tempfile

from experiments import files, tomllib, validation
from experiments.errors import Refused, number, parser, run_main, whole
from experiments.runner import logjam_of
from experiments.store import number_of, write_rows
from experiments.text_tables import print_lines

import numpy  # after experiments, which finds it in a virtual environment
from scipy import stats

ROOT = pathlib.Path(__file__).resolve().parents[1]
LOCKS = ("tas", "ticket", "mcs", "clh")
FITTED = [tenth / 10 for tenth in range(11)]
ABOVE_0 = ("lines", "threads", "published", "simulated")  # columns of a file of points
MANY = 32  # the second table has sums of the points with at least this number of threads
HEADING = ("machine", "curve", "points", "median", "p90", "ratio", "rank", "shape", "p90")


@functools.lru_cache(maxsize=None)
def profile_of(machine):
    return tomllib.loads(files.read_text(ROOT / f"config/machines/{machine}.toml", links=True))


def sockets_of(machine, threads):
    """Returns how many sockets the threads use. They fill the cores of one socket after the other."""
    profile = profile_of(machine)
    return -(-threads // profile["cores"]) if profile["sockets"] > 1 else 1


def summary(curves_of_group):
    """Returns the values of HEADING after the names. A value is None if no curve has it."""
    by_curve = [[math.log(simulated / published) for published, simulated in curve]
                for curve in curves_of_group]
    logs = list(itertools.chain(*by_curve))
    errors = [abs(log) for log in logs]
    shapes = [abs(log - statistics.median(curve))
              for curve in by_curve if len(curve) > 1 for log in curve]
    known = [stats.spearmanr(curve).statistic for curve in curves_of_group
             if all(len(set(values)) > 1 for values in zip(*curve))]
    return (len(logs), statistics.median(errors), numpy.percentile(errors, 90),
            math.exp(statistics.median(logs)), statistics.median(known) if known else None,
            *((statistics.median(shapes), numpy.percentile(shapes, 90)) if shapes else (None, None)))


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
        settings = self._settings[machine]
        farthest = min(sockets_of(machine, threads) - 1, 2)
        pause = settings["pause_cycles"][farthest] if lines == 1 and threads > 1 else 0
        changes = [self._changes] if self._changes else []
        price = settings.get("rmw_cycles", {}).get(sync)
        if price is not None:
            changes.append(f"rmw_cycles={price}")
        if sync in settings.get("set", {}):
            changes.append(settings["set"][sync])
        return [f"--machine={machine}", f"--primitive={sync}:{lines}:{pause / profile_of(machine)['ghz']:.1f}",
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


ELSEWHERE = ("another socket", "own memory", "remote memory")  # not in caches of the own socket
PREDICTED = {  # what the row of a run and its report of accesses say about a point
    "M FAA/s on a line": lambda row, _: row["calls"] / row["seconds"] / row["lines"] * 1e-6,
    "share of time in FAA": lambda row, _:
        1 - row["calls"] * row["pause_ns"] * 1e-9 / row["seconds"] / row["threads"],
    "transactions/s": lambda row, _: row["tps"],
    "misses of the socket's caches a transaction": lambda row, report:
        sum(report[who] for who in ELSEWHERE) / row["transactions"],
    "misses of the core's caches a transaction": lambda row, report:
        sum(report[who] for who in (*ELSEWHERE, "its complex's cache", "another core"))
        / row["transactions"],
}


COMPARED = ("machine", "figure", "curve", "threads", "unit", "published", "predicted", "ratio",
            "over the first's")


class Predictions:
    """Runs the points of manycore.csv, each once for all that is predicted of it."""

    def __init__(self, logjam, settings, seed, changes):
        self._logjam, self._settings = pathlib.Path(logjam).resolve(), settings
        self._seed, self._changes = seed, changes
        self._known = {}

    def flags(self, row):
        changes = ",".join(filter(None, (row["set"], self._changes)))
        words = [self._settings["figures"][row["figure"]]["flags"],
                 *(self._settings["parts"][part] for part in row["curve"].split(", ")),
                 row["flags"], f"--machine={row['machine']} --threads={row['threads']}",
                 f"--set={changes}" if changes else "", f"--sim_seed={self._seed}"]
        return " ".join(filter(None, words))

    def value(self, row):
        """Returns what is predicted, how the run was unsteady (or ""), and the model's version."""
        flags = self.flags(row)
        if flags not in self._known:
            self._known[flags] = self._run(flags)
        made, report = self._known[flags]
        return PREDICTED[row["unit"]](made, report), made.get("unsteady") or "", made["machine"]

    def _run(self, flags):
        with tempfile.TemporaryDirectory() as directory:
            profile = rf"--machine={ROOT}/config/machines/\1.toml"
            words = re.sub(r"--machine=(\S+)", profile, flags).split()
            if words[0] == "run":
                words += ["--wal_dir=log"]
            done = subprocess.run([self._logjam, *words, "--report=accesses", "--json=row.json"],
                                  capture_output=True, text=True, cwd=directory)
            if done.returncode != 0:
                raise Refused(f"{flags}: {done.stderr.strip()}")
            row = json.loads(pathlib.Path(directory, "row.json").read_text())
        return row, {who: int(count) for count, who in
                     re.findall(r"^ *(\d+)  ([^;\n]+)$", done.stdout, re.MULTILINE)}


def predict(rows, settings, predictions, path):
    points = []
    for row in rows:
        value, unsteady, machine = predictions.value(row)
        points.append({
            "machine": row["machine"], "figure": row["figure"], "curve": row["curve"],
            "threads": row["threads"], "unit": row["unit"], "value": value, "unsteady": unsteady,
            "simulated": machine, "flags": predictions.flags(row)})
        print(*(row[name] for name in ("machine", "figure", "curve", "threads", "unit")),
              f"{value:.6g} {unsteady}", sep="; ", flush=True)
    write_rows(path, [{**row, "value": f"{row['value']:.6g}"} for row in points])


def compared(rows, predictions):
    """Returns lines: a point, its published and predicted values, their ratio, and the ratio over
    that of the curve's first point."""
    names = ("machine", "figure", "curve", "threads", "unit")
    known = {tuple(row[name] for name in names): float(row["value"]) for row in predictions}
    lines, first = [], {}
    for row in rows:
        point = tuple(row[name] for name in names)
        if not row["published"] or point not in known:
            continue
        published, value = float(row["published"]), known[point]
        ratio = value / published
        shape = ratio / (first.setdefault((*point[:3], point[4]), ratio) or math.nan)
        lines.append([*point, published, value, round(ratio, 2), round(shape, 2)])
    return lines


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
        sums = [(row["machine"], f"all {kind}"), ("all", f"all {kind}")]
        if int(row["threads"]) >= MANY:
            sums.append(("all", f"all {kind}, {MANY} threads and more"))
        for group in (one, *sums):
            pair = (float(row["published"]), simulated)
            groups.setdefault(group, {}).setdefault(one, []).append(pair)
    in_order = sorted(groups, key=lambda group: (
        group[0] == "all", group[0], group[1].startswith("all")))
    return {group: list(groups[group].values()) for group in in_order}


def lines_of_order(row):
    """Returns the names of the lines of the table of orders to which a row's pairs count."""
    several = sockets_of(row["machine"], int(row["threads"])) > 1
    return "all", kind_of(row), "several sockets" if several else "one socket", row["machine"]


def table(groups):
    return [[*of, *(None if value is None else round(value, 2) for value in summary(group))]
            for of, group in groups.items()]


def wanted(rows, arguments):
    found = [row for row in rows if arguments.machine in (None, row["machine"])
             and arguments.figure in (None, row["figure"])]
    if not found:
        raise Refused("there are no such points")
    return found


def judged_points(arguments):
    """Returns the (row, simulated) pairs of files that --points wrote."""
    if arguments.points or arguments.fit or arguments.set:
        raise Refused("--judge makes no run, so --points, --fit and --set have no effect")
    rows = []
    for path in arguments.judge:
        rows += files.read_rows(path)
        if not all(row.get("curve") and all((number_of(row.get(name)) or 0) > 0 for name in ABOVE_0)
                   for row in rows):
            raise Refused(f"{path} is no file of points with rates above 0, as --points writes it")
    return [(row, float(row["simulated"])) for row in wanted(rows, arguments)]


def predict_points(arguments):
    """Runs the points of manycore.csv and writes what they predict, or compares such a file."""
    curves_of = ROOT / "config/holdout/manycore"
    rows = wanted(files.read_rows(curves_of.with_suffix(".csv"), links=True), arguments)
    if arguments.compare:
        predictions = files.read_rows(arguments.compare)
        if not all(number_of(row.get("value")) is not None and row.get("unit") for row in predictions):
            raise Refused(f"{arguments.compare} is no file of predictions, as --predict writes it")
        print_lines(COMPARED, compared(rows, predictions))
        return 0
    files.is_there(arguments.predict)  # refuses a link before the first run
    settings = tomllib.loads(files.read_text(curves_of.with_suffix(".toml"), links=True))
    predictions = Predictions(logjam_of(arguments.logjam, simulated=True), settings, arguments.seed,
                              arguments.set)
    predict(rows, settings, predictions, pathlib.Path(arguments.predict))
    return 0


def simulated_points(arguments):
    """Runs the points, and returns (row, simulated) pairs."""
    if arguments.points:
        files.is_there(arguments.points)  # refuses a link before the first run
    curves_of = ROOT / "config/holdout" / arguments.curves
    settings = tomllib.loads(files.read_text(curves_of.with_suffix(".toml"), links=True))["machines"]
    rows = wanted(files.read_rows(curves_of.with_suffix(".csv"), links=True), arguments)
    logjam = logjam_of(arguments.logjam, simulated=True)

    def simulation_with(change):
        changes = ",".join(filter(None, (arguments.set, change)))
        return Simulation(logjam, settings, arguments.seconds, arguments.seed, changes)

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
    return points


def main():
    made = parser(__doc__)
    made.add_argument("--logjam", help="the simulated binary; else $LOGJAM_SIM, or build-sim/logjam")
    made.add_argument("--curves", default="david", help="a file of config/holdout/: downs")
    made.add_argument("--machine", help="only the points of this profile")
    made.add_argument("--figure", help="only the points of this figure")
    made.add_argument("--seconds", type=number, default=0.001, help="virtual seconds of a run")
    made.add_argument("--seed", type=whole, default=1)
    made.add_argument("--set", default="", help="as of logjam, for all runs: occupancy=0.3")
    made.add_argument("--fit", metavar="KEY", help="fit this key of each profile to the atomics")
    made.add_argument("--points", help="a CSV file for all points, published and simulated")
    one = made.add_mutually_exclusive_group()
    one.add_argument("--judge", nargs="+", metavar="FILE", help="files of points: no run is made")
    one.add_argument("--predict", metavar="FILE", help="a CSV file for predictions")
    one.add_argument("--compare", metavar="FILE", help="predictions: print them beside the published")
    arguments = made.parse_args()
    if arguments.predict or arguments.compare:
        return predict_points(arguments)
    points = judged_points(arguments) if arguments.judge else simulated_points(arguments)
    order = validation.order(points, lines_of_order)
    if order:
        print_lines(validation.ORDER_HEADING, order)
        print()
    print_lines(HEADING, table(curves(points)))
    return 0


if __name__ == "__main__":
    run_main(main)
