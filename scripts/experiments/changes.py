"""Finds the revisions at which a series of measurements changed, and says how often it errs.

A series has a number for each revision: the logarithm of a point's rate over the rate of a fixed
reference binary that ran in turn. Beside the points there is the series ALL, their mean, which shows
a change of all points sooner.

The rule is a likelihood-ratio test for one step, repeated on both sides of each step that it finds
(binary segmentation). A step at a revision is the difference of the means before and after it. Its
noise follows from the scatter of neighbouring revisions, of which a step changes only one, and is
at least the scatter of all points. A step counts if it exceeds LEVEL times its noise, and LEAST, and
if most of the revisions next to it lie on their side of its middle.
scripts/history_errors.py measures the errors of the rule, and so determines LEVEL.
"""

import dataclasses
import math
import statistics

ALL = "all points"
LEAST = math.log1p(0.03)  # a smaller step does not count
LEVEL = 4.5
FEWEST = 8  # revisions; fewer do not show the noise
FEWEST_BEFORE, FEWEST_AFTER = 4, 2  # one revision alone may be a disturbed measurement
NEAREST = 5
OF_A_NORMAL = 1.4826 / math.sqrt(2)  # from the median of |differences| to the standard deviation


@dataclasses.dataclass
class Change:
    """A step of a series. `index` is the first revision after it, `ratio` the rate after over the
    rate before, `noise` the ratio's standard error."""

    series: str
    index: int
    ratio: float
    noise: float


def with_all(series):
    """Returns the series (name -> numbers) and their mean."""
    return {**series, ALL: [statistics.fmean(of) for of in zip(*series.values())]}


def deviations(series):
    """Maps the series of points to the standard deviation of one revision."""
    apart = {name: [abs(b - a) for a, b in zip(of, of[1:])] for name, of in series.items()}
    pooled = statistics.median([one for of in apart.values() for one in of])
    return {name: OF_A_NORMAL * max(pooled, statistics.median(of)) for name, of in apart.items()}


def find(series):
    """Returns the Changes of all series, the oldest first. `series` maps points to their numbers."""
    count = len(next(iter(series.values())))
    if count < FEWEST:
        return []
    found, noise = [], deviations(series)
    every = with_all(series)
    # The mean has its own scatter, because a busy machine may slow down all points together.
    noise[ALL] = deviations({ALL: every[ALL]})[ALL]
    for name, numbers in every.items():
        found += _split(name, numbers, 0, count, noise[name])
    return sorted(found, key=lambda change: (change.index, change.series != ALL, change.series))


def _most_took_it(before, after, by):
    """Returns whether most of the NEAREST revisions on each side lie on their side of the middle of the
    step, so that no single odd revision makes a step."""
    middle, sign = statistics.fmean(before) + by / 2, math.copysign(1, by)
    return (statistics.median_low([sign * (one - middle) for one in after[:NEAREST]]) > 0 and
            statistics.median_low([sign * (middle - one) for one in before[-NEAREST:]]) > 0)


def _split(name, numbers, begin, end, deviation):
    """Returns the Changes between two revisions: the largest, and those on both of its sides."""
    best, step, total, before = 0.0, None, math.fsum(numbers[begin:end]), 0.0
    for index in range(begin, end):
        sizes = index - begin, end - index
        if sizes[0] >= FEWEST_BEFORE and sizes[1] >= FEWEST_AFTER:
            by = (total - before) / sizes[1] - before / sizes[0]
            error = deviation * math.sqrt(1 / sizes[0] + 1 / sizes[1])
            if abs(by) >= LEAST and abs(by) > max(LEVEL * error, best * error) and _most_took_it(
                    numbers[begin:index], numbers[index:end], by):
                best = abs(by) / error if error else math.inf
                step = Change(name, index, math.exp(by), error)
        before += numbers[index]
    if step is None:
        return []
    return [*_split(name, numbers, begin, step.index, deviation), step,
            *_split(name, numbers, step.index, end, deviation)]
