"""Finds the points of a table that differ, and the points that the rounds cannot tell apart.

Two points differ if equal points would rarely have rounds with such unequal ranks (Wilcoxon's exact
rank-sum test, which assumes nothing about the noise). A round that is slow for all points only
makes the test more careful. All pairs of a table together have one risk (Holm): in one of a hundred
tables of equal points the test finds a difference.

Rounds of a simulated machine differ only in their seeds, which do not show the model's error. So a
simulated point gets only one of three groups, by how many times the best point is as fast."""

import dataclasses
import itertools
import math
import re
import statistics
import string

RISK = 0.01  # as in compare.py
DECIDED = 2  # the least ratio of two rates whose order the simulated machine decides (docs/VALIDATION.md)
COLLAPSED = 5
RATE = re.compile(r"(tps|tpmc|_s)$")  # the columns whose larger values are better
SIMULATED = (f"within {DECIDED}x", f"{DECIDED}x to {COLLAPSED}x", "collapsed")


def group_of(rate, best):
    """Returns the group of SIMULATED of a simulated rate, by the best rate of its block."""
    return SIMULATED[(rate * DECIDED <= best) + (rate * COLLAPSED <= best)]


def least_rounds(pairs):
    """Returns how many rounds each point needs before the test can find that a pair differs."""
    return next(rounds for rounds in itertools.count(2)
                if 2 / math.comb(2 * rounds, rounds) <= RISK / pairs)


def differing(blocks):
    """Returns the differing pairs (frozensets) of keys. Compares only keys of the same block."""
    from scipy import stats  # takes a second to load
    tested = sorted(
        ((stats.mannwhitneyu(a, b, method="exact").pvalue, frozenset((one, other)))
         for block in blocks for (one, a), (other, b) in itertools.combinations(block, 2)),
        key=lambda found: found[0])
    passing = itertools.takewhile(
        lambda found: found[1][0] <= RISK / (len(tested) - found[0]), enumerate(tested))
    return {pair for _, (_, pair) in passing}


def alike(keys, apart):
    """Returns the largest sets of keys without a differing pair, each in the order of `keys`."""
    found = [set(keys)]
    for one, other in itertools.combinations(keys, 2):
        if frozenset((one, other)) in apart:
            split = [part for members in found for part in (
                (members - {one}, members - {other}) if {one, other} <= members else (members,))]
            found = []
            for members in sorted(split, key=len, reverse=True):
                if not any(members <= larger for larger in found):
                    found.append(members)
    return sorted(([key for key in keys if key in members] for members in found),
                  key=lambda members: [keys.index(key) for key in members])


def _letter(place):
    """Returns the letter of a place: "a", "b", ... "z", "a1", "b1", ..."""
    turn, letter = divmod(place, 26)
    return string.ascii_lowercase[letter] + (str(turn) if turn else "")


@dataclasses.dataclass
class Groups:
    """The blocks of a table, and the pairs of points that differ. The points of a block differ in
    the axis `axis`, and are compared by `column`. A block is a list of (key, values)."""

    axis: str
    column: str
    blocks: list
    heading = "alike"  # of the table's column of letters

    def __post_init__(self):
        self.pairs = sum(math.comb(len(block), 2) for block in self.blocks)
        self.rounds = min((len(values) for block in self.blocks for _, values in block), default=0)
        self.enough = bool(self.pairs) and self.rounds >= least_rounds(self.pairs)
        self.apart = differing(self.blocks) if self.enough else set()

    def letters(self):
        """Maps keys to letters. Points of a block that share a letter are alike. The best point has
        the letter a."""
        found = {}
        for block in self.blocks if self.enough else []:
            ordered = sorted(block, key=lambda point: -statistics.median(point[1]))
            for place, members in enumerate(alike([key for key, _ in ordered], self.apart)):
                for key in members:
                    found[key] = found.get(key, "") + _letter(place)
        return found

    def sentence(self):
        """Returns a sentence that explains the letters or their absence; "" without pairs."""
        if not self.pairs:
            return ""
        of_pairs = "the one pair" if self.pairs == 1 else f"any of {self.pairs} pairs"
        if not self.enough:
            return (f"no ranking by {self.column}: {self.rounds} round{'s' * (self.rounds != 1)} cannot "
                    f"tell {of_pairs} of {self.axis} apart; it takes {least_rounds(self.pairs)}")
        return (f"alike: of one block, what shares a letter cannot be told apart by {self.column} "
                f"({self.pairs} pairs of {self.axis}, rank-sum test, risk {100 * RISK:.0f} % for all)")


@dataclasses.dataclass
class SimulatedGroups:
    """The blocks of a simulated table, as Groups has them. Blocks have no point without a log."""

    axis: str
    column: str
    blocks: list
    heading = "group"

    def letters(self):
        """Maps keys to the names of their groups."""
        found = {}
        for block in self.blocks if RATE.search(self.column) else []:
            best = max(statistics.median(values) for _, values in block)
            for key, values in block:
                found[key] = group_of(statistics.median(values), best)
        return found

    def sentence(self):
        return (f"group: how many times the best {self.axis} of a block is as fast, by {self.column}; the "
                f"model decides no order below {DECIDED} times (docs/VALIDATION.md)"
                if self.letters() else "")


def listed(names):
    """Joins names: "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def in_words(groups, block, name_of):
    """Returns sentences: which points of a block are alike, and by how much the others differ."""
    values = dict(block)
    keys = sorted(values, key=lambda key: -statistics.median(values[key]))
    names = {key: name_of(key) for key in keys}
    said = [f"{listed([names[key] for key in members])} cannot be told apart"
            for members in alike(keys, groups.apart) if len(members) > 1]
    slower = {}  # (points) -> the points that are slower than all of these
    for key in keys:
        better = tuple(one for one in keys if frozenset((one, key)) in groups.apart and
                       statistics.median(values[one]) > statistics.median(values[key]))
        if better:
            slower.setdefault(better, []).append(key)
    for better, worse in slower.items():
        times = [statistics.median(values[one]) / statistics.median(values[key])
                 for one in better for key in worse]
        low, high = (f"{of:.2g}" if of < 10 else f"{of:,.0f}" for of in (min(times), max(times)))
        said.append(f"{listed([names[key] for key in better])} {'are' if len(better) > 1 else 'is'} "
                    f"faster than {listed([names[key] for key in worse])}, "
                    f"{low} times" + (f" to {high} times" if low != high else ""))
    return said
