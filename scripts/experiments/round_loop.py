"""Runs experiments on this machine, round by round, and continues where it stopped.

The rounds are interleaved (A B C, A B C, ...): a slow phase of the machine affects all points
alike. With a second binary beside the first, each point runs with both before the next one does.
"""

import sys
import time

from experiments.runner import PointRefused, refuse_without_effect


EVERY_SECONDS = 30


class Progress:
    """Says how far a run is and how long it will still take: on one line of a terminal, else in a
    line every half a minute."""

    def __init__(self, total):
        self.total, self.done, self.begun = total, 0, time.monotonic()
        self._terminal = sys.stderr.isatty()
        self._last, self._waited, self._line = self.begun, None, ""

    def step(self, what):
        """Says what is about to run. Called before each run."""
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
        """Says what happens meanwhile, in a line of its own. What is passing stands at the end of
        the line on a terminal, and elsewhere it is said every half a minute."""
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


def jobs_left(points, rounds, store):
    """Returns the (round, point) pairs that have no row yet, in the order in which they run. Raises
    Refused if the rows that are there were made with other flags."""
    store.refuse_other_flags(points)
    done = store.done()
    return [(number, point) for number in range(1, rounds + 1) for point in points
            if store.key(point, number) not in done]


def jobs_of(points, rounds, pairs):
    """Returns the jobs that one of the (runner, store) pairs has not done yet."""
    jobs = {(number, point.index): (number, point) for _, rows in pairs
            for number, point in jobs_left(points, rounds, rows)}
    return [jobs[key] for key in sorted(jobs)]


def run_jobs(name, jobs, pairs, progress, skip_refused=False, budget=None):
    """Runs each of the `jobs` with each (runner, store) of `pairs`. Returns what was refused: a
    dict of points' names to sentences. Unless `skip_refused`, a refusal ends everything; with it,
    an axis without effect is refused, too. A round that would not end within `budget` seconds is
    not begun, except the first."""
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
        for runner, store in pairs:
            if store.key(point, number) in store.done():
                continue
            try:
                outcome = runner.run(point)
                if skip_refused:
                    refuse_without_effect(point, outcome.row)
                store.add(point, number, outcome)
            except PointRefused as error:
                if not skip_refused:
                    raise
                refused[point.name] = error.reason
                break
    return refused
