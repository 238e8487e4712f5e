"""As many rounds as a sweep needs: rounds=auto:5% runs each point until its interval is narrow.

The interval is that of the mean over a point's rounds (Student's t, 95 %), and narrow if it reaches
no farther than 5 % of the median to either side. The first three rounds are of all points, whatever
the budget; each further one is of the points that are not narrow yet.
"""

import dataclasses
import re
import time

from experiments import intervals, round_loop, store
from experiments.errors import Refused

LEAST_ROUNDS = 3
BUDGET = "10m"
UNITS = {"s": 1, "m": 60, "h": 3600}


@dataclasses.dataclass
class Auto:
    """How narrow, and for how long it is tried: rounds=auto:PERCENT% and budget=TEXT."""

    percent: float
    budget: str = BUDGET

    def is_narrow(self, values):
        """Returns whether the interval of these rounds is narrow."""
        half = intervals.half_in_pct(values) if values else None
        return half is not None and half <= self.percent

    def seconds(self):
        return float(self.budget[:-1]) * UNITS[self.budget[-1]]


def parsed(rounds, budget):
    """Returns the Auto of two texts, or None if `rounds` does not begin with auto."""
    if not rounds.startswith("auto"):
        if budget is not None:
            raise Refused(f"budget={budget} goes with rounds=auto:5%")
        return None
    percent = re.fullmatch(r"auto:([0-9.]+)%", rounds)
    if not percent or not _is_positive(percent[1]):
        raise Refused(f"rounds={rounds} is not auto:P%, like auto:5%")
    auto = Auto(float(percent[1]), budget or BUDGET)
    if auto.budget[-1] not in UNITS or not _is_positive(auto.budget[:-1]):
        raise Refused(f"budget={budget} is not a time like 90s, 10m or 2h")
    return auto


def _is_positive(text):
    return re.fullmatch(r"[0-9]+(\.[0-9]+)?|\.[0-9]+", text) is not None and float(text) > 0


def values_of(rows, axes, column):
    """Returns the column's values in the rounds of the point with these axes."""
    wanted = {name: value for name, value in axes.items() if value != ""}
    found = [store.number_of(row.get(column)) for row in rows if store.axes_of(row) == wanted]
    return [value for value in found if value is not None]


class Rounds:
    """The rounds of `points` by `pairs` of (runner, Store). `column` is what must be narrow."""

    def __init__(self, auto, points, pairs, column):
        self._auto, self._points, self._pairs, self._column = auto, points, pairs, column
        self._begun, self._ran = time.monotonic(), 0

    def is_narrow(self, point):
        """Returns whether the point's interval is narrow with each binary."""
        of_binaries = [values_of(rows.rows, point.axes, self._column) for _, rows in self._pairs]
        return all(map(self._auto.is_narrow, of_binaries))

    def run(self, name, progress):
        """Runs them. Returns what was refused, as run_jobs() does."""
        jobs = round_loop.jobs_of(self._points, LEAST_ROUNDS, self._pairs)
        progress.total = len(jobs)
        refused = round_loop.run_jobs(name, jobs, self._pairs, progress, skip_refused=True)
        self._ran = len(jobs)
        while wide := [point for point in self._points
                       if point.name not in refused and not self.is_narrow(point)]:
            progress.total += len(wide)
            for point in wide:
                if self._is_spent():
                    return refused
                jobs = round_loop.jobs_of([point], self._rounds_of(point) + 1, self._pairs)
                refused |= round_loop.run_jobs(name, jobs, self._pairs, progress, skip_refused=True)
                self._ran += 1
        return refused

    def _rounds_of(self, point):
        return min(len(values_of(rows.rows, point.axes, "round")) for _, rows in self._pairs)

    def _is_spent(self):
        """Returns whether one more run, as long as the others were, would end too late."""
        used = time.monotonic() - self._begun
        return used + used / max(1, self._ran) > self._auto.seconds()
