"""Finds the changes between two measurements of the same experiments that exceed the noise.

For each point and column, the script takes the logarithms of new / old, in pairs of the same round.
If the two binaries ran in turn (`figures.py run --beside=BINARY`), a disturbance of both runs of a
pair cancels out. A change counts if chance causes it in at most one of a hundred comparisons
(Bonferroni over all comparisons), and if it is large enough.

There are two tests. The first tests each point. A point's noise is the scatter of the point's
pairs, and at least the scatter of all points' pairs, because a few rounds of one point say little
about their noise (Student's t). The second tests a whole experiment, and finds changes that are too
small at a single point: whether the pairs of all points lean to one side (Wilcoxon's signed ranks,
on which a few outliers have little effect). This test needs independent pairs. If one measurement
ran after the other, pairs are not independent: within two minutes, the project's virtual machine
becomes a tenth faster or slower. Then the test takes each round's median, and misses small changes.
"""

import dataclasses
import itertools
import math
import pathlib
import statistics

from scipy import stats

from experiments import definition, doubts, store, sweep
from experiments.analysis import Measured, NotMeasured
from experiments.errors import Refused
from experiments.text_tables import say

# The columns whose changes mean faster or slower, and whether a larger number is better.
COLUMNS = {"tps": True, "inserts_s": True, "replay_gb_s": True, "cpu_us_txn": False,
           "commit_p50_us": False}
FALSE_ALARMS = 0.01   # probability of a finding in a comparison of equal programs
LEAST_IN_TURN = 0.03  # least change that counts, if the two measurements ran in turn
LEAST_APART = 0.07    # the same, if one measurement ran after the other
LEAST_ROUNDS = 3


@dataclasses.dataclass
class Moved:
    """A change of a point, or of "all points". `ratio` is new / old. `noise` is the change that
    chance can cause."""

    id: str
    where: str
    column: str
    ratio: float
    noise: float

    @property
    def better(self):
        return (self.ratio > 1) == COLUMNS[self.column]


def in_turn(old, new):
    """Returns whether each of the two measurements began before the other ended."""
    times = [[row["began"] for row in rows if row.get("began")] for rows in (old, new)]
    return all(times) and min(times[0]) < max(times[1]) and min(times[1]) < max(times[0])


def _changes(old, new, column):
    """Yields (name, logarithms of new / old in its rounds) of each point in both measurements."""
    for axes in new.points():
        try:
            ours, theirs = new.column(column, axes), old.column(column, axes)
        except NotMeasured:
            continue
        logarithms = [math.log(value / theirs[number]) for number, value in sorted(ours.items())
                      if value > 0 and theirs.get(number, 0) > 0]
        if len(logarithms) >= LEAST_ROUNDS:
            yield " ".join(f"{axis}={value}" for axis, value in axes.items()) or "all", logarithms


def _noise(logarithms, degrees, risk, deviation=0.0):
    """Returns the mean that chance exceeds with the probability `risk`, if the values scatter like
    `logarithms`, or by `deviation` if it is larger."""
    error = max(statistics.stdev(logarithms), deviation) / math.sqrt(len(logarithms))
    return error * stats.t.ppf(1 - risk / 2, degrees)


def _leans(logarithms, risk):
    return any(logarithms) and stats.wilcoxon(
        logarithms, zero_method="zsplit", method="approx").pvalue < risk


def compare(old, new, apart, count=1):
    """Returns the Moved between two Measured, largest first. `count`: number of experiments."""
    least = math.log1p(LEAST_APART if apart else LEAST_IN_TURN)
    by_column = {column: found for column in COLUMNS
                 if (found := list(_changes(old, new, column)))}
    if not by_column:
        raise Refused(f"{new.experiment.id}: no point has {LEAST_ROUNDS} rounds in both")
    tests = count * sum(len(changes) + 1 for changes in by_column.values())
    risk = FALSE_ALARMS / tests
    moved = []
    for column, changes in by_column.items():
        of_points = [logarithms for _, logarithms in changes]
        degrees = sum(len(logarithms) - 1 for logarithms in of_points)
        pooled = math.sqrt(statistics.fmean(map(statistics.variance, of_points)))
        found = []  # (where, change, noise, whether the change exceeds the noise)
        for where, logarithms in changes:
            change, noise = statistics.median(logarithms), _noise(logarithms, degrees, risk, pooled)
            found.append((where, change, noise, abs(change) > noise))
        # If one measurement ran after the other, takes each round's median of the points.
        pairs = (list(map(statistics.median, zip(*of_points))) if apart else
                 list(itertools.chain(*of_points)))
        middle, noise = statistics.median(pairs), _noise(pairs, len(pairs) - 1, risk)
        seen = abs(middle) > noise if apart else _leans(pairs, risk)
        for where, change, noise, beyond in [*found, ("all points", middle, noise, seen)]:
            if beyond and abs(change) > least:
                moved.append(Moved(new.experiment.id, where, column, math.exp(change),
                                   math.expm1(max(least, noise))))
    return sorted(moved, key=lambda one: -abs(math.log(one.ratio)))


def pairs_to_compare(args):
    """Returns (experiment, old rows, new rows) for two directories, or for two sweeps' CSVs."""
    old, new = pathlib.Path(args.old), pathlib.Path(args.new)
    if old.is_file() and new.is_file():
        rows = [store.Store(path).rows for path in (old, new)]
        if not all(rows):
            raise Refused(f"{old} or {new} has no rows")
        return [(sweep.of_rows(rows[1]), *rows)]
    pairs = []
    for experiment in definition.load_all().values():
        paths = [folder / experiment.id.lower() / f"{args.size}.csv" for folder in (old, new)]
        if all(path.exists() for path in paths):
            pairs.append((experiment, *[store.Store(path).rows for path in paths]))
    if not pairs:
        raise Refused(f"{old} and {new} have no {args.size} results in common")
    return pairs


def print_moved(args):
    pairs = pairs_to_compare(args)
    moved, apart = [], False
    for experiment, old, new in pairs:
        if old[0]["machine"] != new[0]["machine"]:
            raise Refused(f"{experiment.id} was measured on {old[0]['machine']} and on "
                          f"{new[0]['machine']}: two machines cannot be compared")
        now_apart = not in_turn(old, new)
        apart = apart or now_apart
        moved += compare(*(Measured(experiment, rows) for rows in (old, new)),
                         now_apart, len(pairs))
    for one in moved:
        say(f"{'better' if one.better else 'WORSE':6} {one.id} {one.where}: {one.column} "
            f"{one.ratio:.3f} of before (noise: {100 * one.noise:.1f} %)")
    for line in doubts.sentences([row for _, *both in pairs for rows in both for row in rows]):
        say(line)
    if apart:
        say("one was measured after the other: changes of a few percent cannot be told from the "
            "machine's own (figures.py run --beside runs two binaries in turn)")
    say(f"{len(moved)} changes in {len(pairs)} experiments, from {pairs[0][1][0]['revision']} to "
        f"{pairs[0][2][0]['revision']}")
    return 1 if any(not one.better for one in moved) else 0
