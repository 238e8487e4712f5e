"""Compares simulated rates with native rates at the same points, on this machine and its profile.

Computes for each point the ratio simulated / native of the table's first column. If one of two
points that differ only in the scheme is clearly faster natively, the module checks whether it is
also faster in the simulation.
"""

import dataclasses
import itertools

from experiments.analysis import NotMeasured
from experiments.errors import Refused

NEAR = 0.2  # a near ratio differs from 1 by at most this; schemes that differ more are ranked
RANKED = "log"  # the axis whose values are ranked


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
            cell = Cell(axes, *(of.value(columns[0], **axes) for of in (native, there)))
        except NotMeasured:
            continue
        if cell.native > 0:
            found.append(cell)
    if not found:
        raise Refused(f"{native.experiment.id} has no point that was both run here and simulated")
    return found


def _elsewhere(cell):
    return {axis: value for axis, value in cell.axes.items() if axis != RANKED}


def misranked(found):
    """Returns the (faster, slower) pairs that the simulation reverses, and the number of pairs."""
    wrong, clear = [], 0
    for pair in itertools.combinations(found, 2):
        if _elsewhere(pair[0]) != _elsewhere(pair[1]):
            continue
        fast, slow = sorted(pair, key=lambda cell: -cell.native)
        if fast.native <= (1 + NEAR) * slow.native:
            continue
        clear += 1
        if fast.simulated < slow.simulated:
            wrong.append((fast, slow))
    return wrong, clear


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
        said.append(f"Not so {fast.axes[RANKED]} and {slow.axes[RANKED]} at {where}: "
                    f"natively 1 to {slow.native / fast.native:.2f}, simulated "
                    f"{_to(fast.simulated, slow.simulated)}.")
    return said


def lines(found):
    return [[*cell.axes.values(), cell.native, cell.simulated, round(cell.ratio, 3)]
            for cell in found]


def columns(found):
    return [*found[0].axes, "native", "simulated", "simulated / native"]
