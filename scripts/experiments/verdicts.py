"""Computes the verdict on one check, and counts the verdicts on the checks of a result.

A check is a sentence, or compares our number with the published number. A number agrees if it is
between half and twice the published number, unless the file gives another range. It has the
direction only if it is within FARTHEST times, and the file's `shape` holds. A number without
`shape` has no direction: it agrees or disagrees. A sentence has the direction only if it does not
hold, and its `shape` does. A check that agrees because of a device's formula has a verdict of its
own, because such an agreement says nothing about a log.
"""

import math

AGREES, DIRECTION, DISAGREES = "agrees", "direction only", "disagrees"
UNTESTED, DEVICE = "not tested", "by a device's formula"
OPEN = f"{UNTESTED}: too few cores"
UNDECIDED = f"{UNTESTED}: the rounds disagree"
MISSING = f"{UNTESTED}: no steady rows"
PICTURE = "picture"  # of a result without checks
OWN = (AGREES, DIRECTION, DISAGREES)  # what the log, and not a device's formula, decides
JUDGED = (*OWN, DEVICE)
AGREEING = (AGREES, DEVICE)
EVERY = (*OWN, UNTESTED, DEVICE)  # in the order on pages
FARTHEST = 5
UNLIKELY = 0.05
SAID = {AGREES: ("agrees", "agree"), DISAGREES: ("disagrees", "disagree")}


def word_of(verdict):
    """Returns a verdict on a check without its reason."""
    return verdict.partition(":")[0]


def counted(number, word):
    """Returns a number of verdicts with their verb, as "2 agree"."""
    return f"{number} {SAID.get(word, (word, word))[number != 1]}"


def band_of(check):
    """Returns the smallest and the largest number of ours for which the check agrees."""
    ends = check.get("band", (check["published"] / 2, check["published"] * 2))
    return min(ends), max(ends)


def _near(check, ours):
    """Returns whether our number has the published sign, and is within FARTHEST times of it."""
    ends = (*band_of(check), check["published"] / FARTHEST, check["published"] * FARTHEST)
    return min(ends) <= ours <= max(ends)


def of_numbers(evaluate, check):
    """Returns a verdict of JUDGED. `evaluate` evaluates an expression with given names."""
    ours, near = None, True
    if "ours" in check:
        ours = evaluate(check["ours"])
        low, high = band_of(check)
        agrees, near = low <= ours <= high, _near(check, ours)
    else:
        agrees = bool(evaluate(check["holds"]))
    direction = "shape" in check and evaluate(check["shape"], ours=ours)
    if agrees and (direction or "shape" not in check):
        return DEVICE if "device_bound" in check else AGREES
    return DIRECTION if direction and near else DISAGREES


def _at_most(some, of):
    """Returns the probability of at most `some` heads in `of` tosses of a coin."""
    return sum(math.comb(of, k) for k in range(some + 1)) / 2 ** of


def of_rounds(verdict, rounds):
    """Returns `verdict`, or UNDECIDED if too many rounds' verdicts differ (a sign test, 5 %)."""
    differ = sum(one != verdict for one in rounds)
    return UNDECIDED if differ and _at_most(differ, len(rounds)) > UNLIKELY else verdict


def tested(found):
    """Returns whether at least half of a result's checks are judged."""
    return bool(found) and 2 * sum(one in JUDGED for one in found) >= len(found)


def badge(found):
    """Returns the word that colours a result: AGREES if two thirds of the checks agree that a
    device's formula does not decide, DIRECTION if a third does."""
    if not tested(found):
        return UNTESTED if found else PICTURE
    own = [one for one in found if one in OWN]
    share = own.count(AGREES) / len(own) if own else 0
    return (DEVICE if not own else AGREES if share >= 2 / 3 else
            DIRECTION if share >= 1 / 3 else DISAGREES)


def words(found):
    """Returns how many checks agree, as "2 of 4 agree", or the badge if no count says more."""
    agree, colour = found.count(AGREES), badge(found)
    return (colour if colour in (UNTESTED, PICTURE) else counted(len(found), DEVICE)
            if set(found) == {DEVICE} else f"{agree} of {len(found)} {SAID[AGREES][agree != 1]}")


def note(found):
    """Returns the counts that words() does not say, as "1 direction only, 2 disagree"."""
    of_words = [word_of(one) for one in found]
    left = EVERY if not tested(found) else [] if set(found) == {DEVICE} else EVERY[1:]
    return ", ".join(counted(of_words.count(word), word) for word in left if word in of_words)


def cores_needed(experiment):
    return max([experiment.needs_cores, *(check.get("needs_cores", 1)
                                          for check in experiment.checks)])


def words_of_figure(experiment, checks):
    """Returns how many checks agree, a note on the others, and the word that colours the result."""
    found = [verdict for _, verdict in checks]
    needs = f", needs {cores_needed(experiment)} cores" if OPEN in found else ""
    return ("" if not found and experiment.own else words(found), note(found) + needs, badge(found))


def line_of_figure(experiment, checks):
    said, more, _ = words_of_figure(experiment, checks)
    return ": ".join(part for part in (experiment.id, said, more) if part) if checks else ""
