"""Compares simulated rates with rates of real machines at the same points.

cells() and the functions after it compare with native rates of this machine. They compute for each
point the ratio simulated / native of the table's first column. If one of two points that differ only
in the scheme is clearly faster natively, they check whether it is also faster in the simulation.

order() compares with published curves. It looks at all pairs of curves of one figure of a machine, at
each number of threads, by how many times the simulation says that one of both is faster. A pair is right
if that curve is also faster on the real machine, by however little; equal published rates are wrong.
The interval of the share of right pairs is Wilson's (1927, 95 %). The pairs of one machine and
number of threads share curves, so they depend on each other. Hence the interval is that of fewer, independent
pairs: of the number with which the share would scatter as it does between these groups of pairs. The
groups of one machine depend on each other, too, so the true interval is still wider.
"""

import dataclasses
import itertools
import math
import statistics

from experiments.analysis import NotMeasured
from experiments.errors import Refused

NEAR = 0.2  # a near ratio differs from 1 by at most this; schemes that differ more are ranked
RANKED = ("log", "way")  # the axes whose values are ranked
BANDS = {"1.05 to 1.2": 1.05, "1.2 to 1.5": 1.2, "1.5 to 2": 1.5, "2 and more": 2}
ORDER_HEADING = ("pairs of", "simulated ratio", "pairs", "right", "wrong", "% right", "from", "to",
                 "clear", "right")


@dataclasses.dataclass
class Cell:
    axes: dict
    native: float
    simulated: float

    @property
    def ratio(self):
        return self.simulated / self.native

    @property
    def near(self):
        return abs(self.ratio - 1) <= NEAR


def cells(native, there):
    """Returns Cells of the points in both Measured, except points with a native rate of 0."""
    columns = native.experiment.table_columns
    if not columns:
        raise Refused(f"{native.experiment.where} has no table, so nothing to set side by side")
    found = []
    for axes in native.points():
        try:
            cell = Cell(axes, *(of.median(columns[0], axes) for of in (native, there)))
        except NotMeasured:
            continue
        if cell.native > 0:
            found.append(cell)
    if not found:
        raise Refused(f"{native.experiment.id} has no point that was both run here and simulated")
    return found


def _elsewhere(cell):
    return {axis: value for axis, value in cell.axes.items() if axis not in RANKED}


def _name(cell):
    return next(cell.axes[axis] for axis in RANKED if axis in cell.axes)


def _pairs(found):
    """Yields the pairs of cells that differ only in the scheme."""
    blocks = {}
    for cell in found:
        blocks.setdefault(tuple(sorted(_elsewhere(cell).items())), []).append(cell)
    return itertools.chain.from_iterable(
        itertools.combinations(block, 2) for block in blocks.values())


def misranked(found):
    """Returns the (faster, slower) pairs that the simulation reverses, and the number of pairs."""
    pairs = [sorted(pair, key=lambda cell: -cell.native) for pair in _pairs(found)]
    clear = [(fast, slow) for fast, slow in pairs if fast.native > (1 + NEAR) * slow.native]
    return [(fast, slow) for fast, slow in clear if fast.simulated < slow.simulated], len(clear)


def band_of(slow, fast):
    """Returns the band of two rates' ratio, or "" if the ratio is below all bands."""
    return max((name for name, least in BANDS.items() if fast >= least * slow), default="",
               key=BANDS.get)


def by_band(found):
    """Returns a text: of the pairs of each band of simulated ratios, how many have this order."""
    right = {}
    for pair in _pairs(found):
        slow, fast = sorted(pair, key=lambda cell: cell.simulated)
        right.setdefault(band_of(slow.simulated, fast.simulated), []).append(
            fast.native > slow.native)
    return "; ".join(f"{band} times: {sum(right[band])} of {len(right[band])}"
                     for band in BANDS if band in right) or "none"


def _to(fast, slow):
    return f"1 to {slow / fast:.2f}" if fast else f"0 to {slow:.0f}"


def summary(found):
    near = sum(cell.near for cell in found)
    wrong, clear = misranked(found)
    said = [f"Of {len(found)} points, {near} ({100 * near / len(found):.0f} %) are simulated "
            f"within {100 * NEAR:.0f} % of the native rate; of {clear} pairs of logs that differ "
            f"natively by more than that, {clear - len(wrong)} rank alike."]
    for fast, slow in wrong:
        where = " ".join(f"{axis}={value}" for axis, value in _elsewhere(fast).items())
        said.append(f"Not so {_name(fast)} and {_name(slow)} at {where}: "
                    f"natively 1 to {slow.native / fast.native:.2f}, simulated "
                    f"{_to(fast.simulated, slow.simulated)}.")
    return said


def lines(found):
    return [[*cell.axes.values(), cell.native, cell.simulated, round(cell.ratio, 3)]
            for cell in found]


def columns(found):
    return [*found[0].axes, "native", "simulated", "simulated / native"]


def wilson(share, number):
    """Returns the interval (low, high) of a share of `number` independent trials."""
    z = statistics.NormalDist().inv_cdf(0.975)
    middle, wide = share + z * z / (2 * number), 1 + z * z / number
    half = z * math.sqrt(share * (1 - share) / number + z * z / (4 * number * number))
    return (middle - half) / wide, (middle + half) / wide


def independent(groups):
    """Returns the number of independent trials whose share scatters as between these groups of
    trials, each a list of booleans. With equal shares it is the number of groups."""
    trials = list(itertools.chain(*groups))
    share = sum(trials) / len(trials)
    squares = sum((sum(group) - share * len(group)) ** 2 for group in groups)
    if not squares or len(groups) == 1:
        return len(groups)
    variance = squares * len(groups) / (len(groups) - 1) / len(trials) ** 2
    return min(len(trials), share * (1 - share) / variance)


def _line(pairs):
    """Returns the values of ORDER_HEADING after the names, of (group, right, clear) tuples."""
    right, clear = sum(right for _, right, _ in pairs), [right for _, right, clear in pairs if clear]
    groups = {}
    for group, is_right, _ in pairs:
        groups.setdefault(group, []).append(is_right)
    low, high = wilson(right / len(pairs), independent(list(groups.values())))
    return [len(pairs), right, len(pairs) - right,
            *(round(100 * part) for part in (right / len(pairs), low, high)), len(clear), sum(clear)]


def order(points, names_of):
    """Returns the lines of the table of orders. `points`: (row, simulated) pairs. `names_of` returns
    the names of the table's lines to which a row's pairs count, in the table's order. Clear pairs
    have published rates that differ by more than NEAR."""
    alternatives, found = {}, {}
    for row, simulated in points:
        place = tuple(row[name] for name in ("machine", "figure", "lines", "threads"))
        alternatives.setdefault(place, []).append((simulated, float(row["published"]), row))
    for curves in alternatives.values():
        for pair in itertools.combinations(curves, 2):
            (slow, published_slow, row), (fast, published_fast, _) = sorted(pair, key=lambda one: one[0])
            band = band_of(slow, fast)
            if not band:
                continue
            low, high = sorted((published_slow, published_fast))
            judged = ((row["machine"], row["threads"]), published_fast > published_slow,
                      high > (1 + NEAR) * low)
            for name in enumerate(names_of(row)):
                found.setdefault(name, {}).setdefault(band, []).append(judged)
    return [[name, band, *_line(bands[band])]
            for (_, name), bands in sorted(found.items(), key=lambda line: line[0][0])
            for band in reversed(list(BANDS)) if band in bands]
