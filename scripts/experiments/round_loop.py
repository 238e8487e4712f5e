"""Runs experiments on this machine, round by round, and continues after the last row.

The rounds are interleaved (A B C, A B C, ...), so a slow phase of the machine affects all points.
With a second binary, each point runs with both binaries before the next point runs.

With rounds=auto:5%, each point of a sweep runs until its interval is narrow: the interval of the
mean over the point's rounds (Student's t, 95 %) extends at most 5 % of the median to either side.
The first three rounds run all points, whatever the budget. A further round runs only the points
whose interval is not narrow yet.
"""

import dataclasses
import re
import sys
import time

from experiments import doubts, store
from experiments.errors import Refused
from experiments.runner import PointRefused, refuse_without_effect

EVERY_SECONDS = 30
LEAST_ROUNDS = 3
BUDGET = "10m"
UNITS = {"s": 1, "m": 60, "h": 3600}


class Progress:
    """Prints the progress: in one line on a terminal, otherwise in a line every 30 seconds."""

    def __init__(self, total):
        self.total, self.done, self.begun = total, 0, time.monotonic()
        self._terminal = sys.stderr.isatty()
        self._last, self._waited, self._line = self.begun, None, ""

    def step(self, what):
        """Prints which run begins."""
        now = time.monotonic()
        left = ""
        if self.done:
            seconds = (now - self.begun) / self.done * (self.total - self.done)
            left = f", {seconds / 60:.0f} min left" if seconds >= 90 else f", {seconds:.0f} s left"
        self._line = f"{self.done + 1} of {self.total}{left}: {what}"
        if self._terminal:
            self._write(self._line[:160])
        elif now - self._last >= EVERY_SECONDS:
            self._last = now
            print(self._line, file=sys.stderr, flush=True)
        self.done += 1

    def tell(self, words, passing=False):
        """Prints `words` as a line. With `passing`, the next line may overwrite this line."""
        now = time.monotonic()
        if self._terminal and passing:
            self._write(f"{self._line[:100]}: {words}")
        elif self._terminal:
            self._write(f"{words}\n{self._line[:160]}")
        elif not passing or self._waited is None or now - self._waited >= EVERY_SECONDS:
            self._waited = now if passing else self._waited
            print(words, file=sys.stderr, flush=True)

    @staticmethod
    def _write(words):
        sys.stderr.write(f"\r\033[K{words}")
        sys.stderr.flush()

    def end(self):
        if self._terminal:
            sys.stderr.write("\r\033[K")


def jobs_left(points, rounds, rows):
    """Returns (round, point) pairs without a row. Refuses a point whose rows have other flags."""
    rows.refuse_other_flags(points)
    done = rows.done()
    return [(number, point) for number in range(1, rounds + 1) for point in points
            if rows.key(point, number) not in done]


def jobs_of(points, rounds, pairs):
    """Returns the jobs for which at least one of the (runner, store) pairs has no row."""
    jobs = {(number, point.index): (number, point) for _, rows in pairs
            for number, point in jobs_left(points, rounds, rows)}
    return [jobs[key] for key in sorted(jobs)]


def run_jobs(name, jobs, pairs, progress, skip_refused=False, budget=None):
    """Runs each of the `jobs` with each (runner, store) of `pairs`. Returns {name of a refused
    point: logjam's reason}. Without `skip_refused`, a refusal ends all runs. With it, a point
    whose axis has no effect is refused, too. Begins a later round only if it would end within
    `budget` seconds."""
    for runner, _ in pairs:
        runner.tell = progress.tell
    refused, begun, first, last = {}, time.monotonic(), jobs[0][0] if jobs else 1, None
    for number, point in jobs:
        if number != last and last is not None and budget:
            used = time.monotonic() - begun
            if used * (number - first + 1) / (number - first) > budget:
                break
        last = number
        progress.step(f"{name}, round {number}: {point.name}")
        if point.name in refused:
            continue
        for runner, rows in pairs:
            if rows.key(point, number) in rows.done():
                continue
            try:
                outcome = runner.run(point)
                if skip_refused:
                    refuse_without_effect(point, outcome.row)
                rows.add(point, number, outcome)
            except PointRefused as error:
                if not skip_refused:
                    raise
                refused[point.name] = error.reason
                break
    return refused


@dataclasses.dataclass
class Auto:
    """The largest width of an interval (rounds=auto:P%), and a time limit (budget=TEXT)."""

    percent: float
    budget: str = BUDGET

    def is_narrow(self, values):
        half = doubts.half_in_pct(values) if values else None
        return half is not None and half <= self.percent

    def seconds(self):
        return seconds_of(self.budget)


def seconds_of(budget):
    if budget[-1:] not in UNITS or not _is_positive(budget[:-1]):
        raise Refused(f"budget={budget} is not a time like 90s, 10m or 2h")
    return float(budget[:-1]) * UNITS[budget[-1]]


def auto_of(rounds, budget):
    if not rounds.startswith("auto"):
        if budget is not None:
            raise Refused(f"budget={budget} goes with rounds=auto:5%")
        return None
    percent = re.fullmatch(r"auto:([0-9.]+)%", rounds)
    if not percent or not _is_positive(percent[1]):
        raise Refused(f"rounds={rounds} is not auto:P%, like auto:5%")
    auto = Auto(float(percent[1]), budget or BUDGET)
    auto.seconds()  # refuses what is no time
    return auto


def _is_positive(text):
    return re.fullmatch(r"[0-9]+(\.[0-9]+)?|\.[0-9]+", text) is not None and float(text) > 0


def values_of(rows, axes, column):
    wanted = {name: value for name, value in axes.items() if value != ""}
    found = [store.number_of(row.get(column)) for row in rows if store.axes_of(row) == wanted]
    return [value for value in found if value is not None]


class Rounds:
    """Runs rounds of `points` by (runner, Store) `pairs` until intervals of `column` are narrow."""

    def __init__(self, auto, points, pairs, column):
        self._auto, self._points, self._pairs, self._column = auto, points, pairs, column
        self._begun, self._ran = time.monotonic(), 0

    def is_narrow(self, point):
        of_binaries = [values_of(rows.rows, point.axes, self._column) for _, rows in self._pairs]
        return all(map(self._auto.is_narrow, of_binaries))

    def run(self, name, progress):
        """Runs the rounds. Returns the result of run_jobs()."""
        jobs = jobs_of(self._points, LEAST_ROUNDS, self._pairs)
        progress.total = len(jobs)
        refused = run_jobs(name, jobs, self._pairs, progress, skip_refused=True)
        self._ran = len(jobs)
        while wide := [point for point in self._points
                       if point.name not in refused and not self.is_narrow(point)]:
            progress.total += len(wide)
            for point in wide:
                used = time.monotonic() - self._begun
                if used + used / max(1, self._ran) > self._auto.seconds():
                    return refused  # one more run would exceed the budget
                rounds = min(len(values_of(rows.rows, point.axes, "round"))
                             for _, rows in self._pairs)
                jobs = jobs_of([point], rounds + 1, self._pairs)
                refused |= run_jobs(name, jobs, self._pairs, progress, skip_refused=True)
                self._ran += 1
        return refused
