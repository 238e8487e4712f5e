"""Computes the verdict on one check, and the verdict on a figure from its checks.

A check is an expression, or compares our number with the published number. A comparison holds if
our number is between half and twice the published number, unless the file gives another range. If a
check holds in its direction but not in its size, the verdict is `shape only`.
"""

import math

HOLDS, SHAPE, PART, FAILS = "holds", "shape only", "holds in part", "does not hold"
UNDECIDED, OPEN, MISSING, PICTURE = "undecided", "open", "not measured", "picture"
EVERY = (HOLDS, PART, SHAPE, FAILS, UNDECIDED, OPEN, PICTURE, MISSING)  # in the order on pages
JUDGED = (HOLDS, SHAPE, FAILS)
UNLIKELY = 0.05
SAID = {HOLDS: ("holds", "hold"), PART: ("holds in part", "hold in part"),
        SHAPE: ("holds in shape only", "hold in shape only"),
        FAILS: ("does not hold", "do not hold"), UNDECIDED: ("is undecided", "are undecided"),
        OPEN: ("is open", "are open"),
        PICTURE: ("is a picture without a check", "are pictures without a check"),
        MISSING: ("was not measured", "were not measured")}


def counted(number, verdict):
    """Returns a number of verdicts with their verb, as "2 hold in part"."""
    return f"{number} {SAID[verdict][number != 1]}"


def band_of(check):
    """Returns the smallest and the largest number of ours for which the check holds."""
    ends = check.get("band", (check["published"] / 2, check["published"] * 2))
    return min(ends), max(ends)


def of_numbers(evaluate, check):
    """Returns HOLDS, SHAPE or FAILS. `evaluate` evaluates an expression with given names."""
    ours = None
    if "ours" in check:
        ours = evaluate(check["ours"])
        low, high = band_of(check)
        size = low <= ours <= high
    else:
        size = bool(evaluate(check["holds"]))
    if "shape" not in check:
        return HOLDS if size else FAILS
    if not evaluate(check["shape"], ours=ours):
        return FAILS
    return HOLDS if size else SHAPE


def _at_most(some, of):
    """Returns the probability of at most `some` heads in `of` tosses of a coin."""
    return sum(math.comb(of, k) for k in range(some + 1)) / 2 ** of


def of_rounds(verdict, rounds):
    """Returns `verdict`, or UNDECIDED if too many rounds' verdicts differ (a sign test, 5 %)."""
    differ = sum(one != verdict for one in rounds)
    return UNDECIDED if differ and _at_most(differ, len(rounds)) > UNLIKELY else verdict


def of_figure(verdicts):
    if not verdicts:
        return PICTURE
    counts = {verdict: verdicts.count(verdict) for verdict in EVERY}
    passed = counts[HOLDS] + counts[SHAPE]
    if passed == len(verdicts):
        return SHAPE if counts[SHAPE] else HOLDS
    if counts[HOLDS]:
        return PART
    for verdict in (FAILS, SHAPE, UNDECIDED, OPEN):
        if counts[verdict]:
            return verdict
    return MISSING


def note(verdicts):
    """Returns the number of each verdict, as "2 of 4 hold, 1 is open"; "" if all are the same."""
    if len(set(verdicts)) < 2:
        return ""
    said = [counted(verdicts.count(verdict), verdict) for verdict in EVERY if verdict in verdicts]
    first, rest = said[0].split(" ", 1)
    return ", ".join([f"{first} of {len(verdicts)} checks {rest}", *said[1:]])


def badge(found):
    """Returns the verdict that colours the figure. PART is green if two thirds of checks pass."""
    verdict = of_figure(found)
    if verdict not in (PART, SHAPE):
        return verdict
    passed = sum(one in (HOLDS, SHAPE) for one in found) / len(found)
    return PART if passed >= 2 / 3 else UNDECIDED if passed >= 1 / 3 else FAILS


def cores_needed(experiment):
    return max([experiment.needs_cores, *(check.get("needs_cores", 1)
                                          for check in experiment.checks)])


def words_of_figure(experiment, checks):
    """Returns the verdict in words, a note on differing checks, and the badge's verdict."""
    found = [verdict for _, verdict in checks]
    if not found and experiment.own:
        return "", "", PICTURE
    verdict, said = of_figure(found), note(found)
    needs = f": needs {cores_needed(experiment)} cores"
    return verdict + (needs if verdict == OPEN else ""), said + (
        needs if said and OPEN in found else ""), badge(found)


def line_of_figure(experiment, checks):
    words, said, _ = words_of_figure(experiment, checks)
    count = len(checks)
    all_of_them = f"all {count} checks" if count > 1 else "its one check"
    return f"{experiment.id}: {words}: {said or all_of_them}" if checks else ""
