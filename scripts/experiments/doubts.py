"""What makes rows doubtful, and how a reader is told: wherever rows are shown, beside their numbers.

A disturbed row was measured while others used the cores. An unsteady one has a window that shows no
rate, by logjam's own word. What an unsafe one acknowledged a crash may lose.
"""

from experiments.idle_watch import MOST_OF_OTHERS
from experiments.store import number_of

MOST_DISTURBED = 1 / 3  # of the rows: with more of them nothing is compared
MOST_FULL_PCT = 10  # of the workers' time, waiting for room in the pipeline


def _number(row, column):
    return number_of(row.get(column)) or 0.0


def disturbed(row):
    """Returns whether others used the cores: by the runner's own word, or by the share that they
    took."""
    return row.get("disturbed") == "true" or _number(row, "others_pct") > 100 * MOST_OF_OTHERS


def unsteady(row):
    return bool(row.get("unsteady"))


def unsafe(row):
    return bool(row.get("unsafe"))


def full(row):
    """Returns whether --pipeline_depth has set the latency, and not the scheme alone."""
    return _number(row, "pipeline_full_pct") > MOST_FULL_PCT


def doubtful(rows):
    """Returns whether a point of these rows is drawn grey."""
    return too_many(sum(disturbed(row) or unsteady(row) for row in rows), rows)


def too_many(count, rows):
    return count > MOST_DISTURBED * len(rows)


def no_comparison(rows):
    """Returns the sentence that takes the place of a comparison, or ""."""
    count = sum(map(disturbed, rows))
    return (f"{count} of {len(rows)} rows ran beside other programs: no comparison"
            if too_many(count, rows) else "")


def sentences(rows):
    """Returns what a reader of these rows must know, each with its count."""
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
