"""Finds the points that an experiment's checks read, so that a sensitivity run makes no others.

A check like `value('tps', log='a') > 2 and all(x < 1 for x in values('tps', log='b'))` stops at the
first comparison that is false, and would then not ask for its last points. So each check is
evaluated once with a placeholder in place of every number: all comparisons of a placeholder are
true, so the evaluation reaches the end of each `and` and `all`, and every point that it asks for is
noted. (The second operand of an `or` would be missed.)
"""

import copy

from experiments.analysis import Measured
from experiments.definition import text


class Placeholder:
    """Stands for a number: arithmetic with it gives a placeholder, and every comparison is true."""

    def _placeholder(self, *_):
        return self

    def _true(self, *_):
        return True

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _placeholder
    __truediv__ = __rtruediv__ = __neg__ = __abs__ = __pow__ = _placeholder
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __bool__ = _true
    __hash__ = object.__hash__

    def __float__(self):
        return 1.0


class _Recorder(Measured):
    """Answers every question about a column with a placeholder, and notes the points in `asked`."""

    def __init__(self, experiment, points):
        experiment = copy.copy(experiment)
        experiment.columns = {}  # these would be computed from values, and there are none
        super().__init__(experiment, [
            {"round": "1", **{f"axis_{axis}": text(value) for axis, value in point.axes.items()}}
            for point in points])
        self.asked = set()

    def column(self, name, axes):
        self.asked.add(tuple(sorted(axes.items())))
        if name in self.experiment.ratios:
            self.asked.add(tuple(sorted(self.reference(name, axes).items())))
        return {1: Placeholder()}


def select(experiment, points):
    """Returns those of `points` that the checks read, or all if the experiment has no check."""
    recorder = _Recorder(experiment, points)
    recorder.checks()
    return [point for point in points
            if not recorder.asked or tuple(sorted(point.axes.items())) in recorder.asked]
