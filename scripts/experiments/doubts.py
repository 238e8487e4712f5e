"""What makes rows doubtful, and how a reader is told: wherever rows are shown, beside their numbers.

A disturbed row was measured while others used the cores. An unsteady one has a window that shows no
rate, by logjam's own word. What an unsafe one acknowledged a crash may lose.

How sure a number is says the interval in which the mean of very many rounds lies, with 95 %. It
follows from how the rounds scatter, by Student's t: a few rounds alike by chance do not make a
number sure. One round says nothing about it.
"""

import math
import statistics

from experiments.idle_watch import MOST_OF_OTHERS
from experiments.store import number_of

MOST_DISTURBED = 1 / 3  # of the rows: with more of them nothing is compared
LEVEL = 0.95  # of an interval
MOST_FULL_PCT = 10  # of the workers' time, waiting for room in the pipeline


def _number(row, column):
    return number_of(row.get(column)) or 0.0


def disturbed(row):
    """Returns whether others used the cores: the runner says so, or their share does."""
    return row.get("disturbed") == "true" or _number(row, "others_pct") > 100 * MOST_OF_OTHERS


def unsteady(row):
    return bool(row.get("unsteady"))


def unsafe(row):
    return bool(row.get("unsafe"))


def full(row):
    """Returns whether --pipeline_depth has set the latency, and not the scheme alone."""
    return _number(row, "pipeline_full_pct") > MOST_FULL_PCT


def doubtful(rows):
    return too_many(sum(disturbed(row) or unsteady(row) for row in rows), rows)


def too_many(count, rows):
    return count > MOST_DISTURBED * len(rows)


def no_comparison(rows):
    """Returns the sentence that takes the place of a comparison, or ""."""
    count = sum(map(disturbed, rows))
    return (f"{count} of {len(rows)} rows ran beside other programs: no comparison"
            if too_many(count, rows) else "")


def sentences(rows):
    """Returns the doubts about these rows, a sentence each with its count."""
    said = []
    for of_kind, words in (
            (disturbed, "ran beside other programs (column others_pct)"),
            (unsteady, "{are} unsteady (column unsteady says why): no check looks at them"),
            (unsafe, "{are} UNSAFE: a crash may lose what they acknowledged"),
            (full, f"waited for --pipeline_depth, which sets their latency (pipeline_full_pct above "
                   f"{MOST_FULL_PCT})")):
        count = sum(map(of_kind, rows))
        if count:
            words = words.format(are="is" if count == 1 else "are")
            said.append(no_comparison(rows) if of_kind is disturbed and no_comparison(rows) else
                        f"{count} of {len(rows)} rows {words}")
    return said


def interval(values):
    """Returns the interval (low, high) of the rounds' mean, or None of less than two numbers."""
    from scipy import special  # takes a moment to load
    if len(values) < 2 or not all(isinstance(value, float) and math.isfinite(value)
                                  for value in values):
        return None
    mean = statistics.fmean(values)
    half = (special.stdtrit(len(values) - 1, (1 + LEVEL) / 2) * statistics.stdev(values)
            / math.sqrt(len(values)))
    return mean - half, mean + half


def half_in_pct(values):
    """Returns half of the interval in percent of the median, or None without an interval."""
    found, middle = interval(values), statistics.median(values)
    return 50 * (found[1] - found[0]) / abs(middle) if found and middle else None
