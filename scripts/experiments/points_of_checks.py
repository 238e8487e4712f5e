"""The points that an experiment's checks and number look at: a sensitivity run needs no others.

An expression is evaluated on values that agree with every comparison, so that `and` and `all` go on
to their end, and the points that it asks for are noted.
"""

import copy

from experiments.analysis import Measured
from experiments.definition import text


class Agreeable:
    """A number of which everything is true."""

    def _itself(self, *_):
        return self

    def _true(self, *_):
        return True

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _itself
    __truediv__ = __rtruediv__ = __neg__ = __abs__ = __pow__ = _itself
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __bool__ = _true
    __hash__ = object.__hash__

    def __float__(self):
        return 1.0


class _Asked(Measured):
    """Notes the points of which a column is asked for."""

    def __init__(self, experiment, points):
        experiment = copy.copy(experiment)
        experiment.columns = {}  # which are computed from what no row has yet
        super().__init__(experiment, [
            {"round": "1", **{f"axis_{axis}": text(value) for axis, value in point.axes.items()}}
            for point in points])
        self.asked = set()

    def column(self, name, axes):
        self.asked.add(tuple(sorted(axes.items())))
        if name in self.experiment.ratios:
            self.asked.add(tuple(sorted(self.reference(name, axes).items())))
        return {1: Agreeable()}


def select(experiment, points):
    """Those of the points that the checks look at, or all if there is no check."""
    asked = _Asked(experiment, points)
    asked.checks()
    return [point for point in points
            if not asked.asked or tuple(sorted(point.axes.items())) in asked.asked]
