"""How sure a number is: the interval in which the mean of very many rounds lies, with 95 %.

It follows from how the rounds scatter, by Student's t: a few rounds alike by chance do not make a
number sure. One round says nothing about it.
"""

import math
import statistics

LEVEL = 0.95


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
    """Returns half of the interval in percent of the median, or None where there is none."""
    found, middle = interval(values), statistics.median(values)
    return 50 * (found[1] - found[0]) / abs(middle) if found and middle else None
