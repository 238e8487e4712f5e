"""Finds doubtful rows, and writes the sentences about them. Each table and figure shows these.

A row is disturbed if other programs used the cores during its run. A row is unsteady if logjam
reported that the window shows no rate. A row is unsafe if a crash may lose acknowledged commits.

With a probability of 95 %, the interval contains the mean of very many rounds. The interval follows
from the rounds' scatter (Student's t), so a few rounds that are alike by chance do not give a
narrow interval. One round gives no interval.
"""

import math
import statistics

from experiments.idle_watch import MOST_OF_OTHERS
from experiments.store import number_of

MOST_DISTURBED = 1 / 3  # share of disturbed rows; above it, nothing is compared
LEVEL = 0.95  # probability of an interval
MOST_FULL_PCT = 10  # percent of the workers' time in waits for space in the pipeline


def _number(row, column):
    return number_of(row.get(column)) or 0.0


def disturbed(row):
    return row.get("disturbed") == "true" or _number(row, "others_pct") > 100 * MOST_OF_OTHERS


def unsteady(row):
    return bool(row.get("unsteady"))


def unsafe(row):
    return bool(row.get("unsafe"))


def full(row):
    """Returns whether --pipeline_depth, and not only the scheme, determines the latency."""
    return _number(row, "pipeline_full_pct") > MOST_FULL_PCT


def doubtful(rows):
    return too_many(sum(disturbed(row) or unsteady(row) for row in rows), rows)


def too_many(count, rows):
    return count > MOST_DISTURBED * len(rows)


def no_comparison(rows):
    """Returns the sentence instead of a comparison if too many rows are disturbed, or ""."""
    count = sum(map(disturbed, rows))
    return (f"{count} of {len(rows)} rows ran beside other programs: no comparison"
            if too_many(count, rows) else "")


def sentences(rows):
    """Returns a sentence for each kind of doubt about these rows, with the number of rows."""
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
    """Returns the interval (low, high) of the rounds' mean, or None for less than two numbers."""
    from scipy import special  # takes a moment to load
    if len(values) < 2 or not all(isinstance(value, float) and math.isfinite(value)
                                  for value in values):
        return None
    mean = statistics.fmean(values)
    half = (special.stdtrit(len(values) - 1, (1 + LEVEL) / 2) * statistics.stdev(values)
            / math.sqrt(len(values)))
    return mean - half, mean + half


def half_in_pct(values):
    found, middle = interval(values), statistics.median(values)
    return 50 * (found[1] - found[0]) / abs(middle) if found and middle else None
