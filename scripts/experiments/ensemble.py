"""Finds the conclusions that stay true if all assumed constants of a machine are drawn at once.

sensitivity.py changes one constant at a time, so it misses constants that change a conclusion only
together. A draw changes all constants that nobody measured: those whose source says "assumed", and
those that the profile leaves out. A constant with a range in RANGES is drawn from this range. Any
other constant is multiplied by a factor from 1/2 to 2 (log-uniform). All prices of another complex
share one factor, and so do all prices of other sockets: the measured ones too, because they stand
beside assumed ones. A draw in which a near line costs more than a farther line, although it costs
less in the profile, is made again.

A draw follows from its seed and number alone. So a stopped run continues, and the first of 30 draws
are the draws of a shorter run. A machine has a conclusion if each of its seeds has it. A conclusion
survives if the unchanged machine has it, and at least 95 % of the draws. A draw with an unsteady
point lacks the conclusions from this point; it is undecided whether these survive if the unsteady
draws decide it. """

import collections
import itertools
import random
import statistics

from experiments import groups, store
from experiments.analysis import Measured, NotMeasured
from experiments.sensitivity import UNCHANGED, Variant, limited
from experiments.verdicts import AGREEING, MISSING, OPEN

RANGES = {"occupancy": (0.16, 1.0), "hold": (0.05, 0.5), "read_occupancy_cycles": (0, 40),
          "sharer_cycles": (0, 40)}
PLACES = ("", "complex_", "hop_", "two_hop_")  # from near to far
SHARE, LEAST_DRAWS = 0.95, 20  # 95 % of fewer draws are all draws
BANDS = (1, 1.2, 1.5, 2, 5, float("inf"))
CHECK, JUDGED, GROUP, FASTER = "check", "judged", "group", "faster"  # the kinds of conclusions
NO_LOG = "none"  # the engine without a log is not compared


def _owner(constant):
    """Returns the name of the factor that multiplies a constant."""
    return next((place for place in PLACES[1:3] if place in constant), constant)


def _chains():
    for kind in ("clean", "dirty", "upgrade", "memory"):
        yield [place + f"{kind}_cycles" if place or kind != "clean" else "l3_cycles"
               for place in PLACES]


def _turned_round(profile, drawn):
    """Returns whether a line is dearer than a farther line, although the profile has it cheaper."""
    return any(drawn[near] > drawn[far] and profile[near] <= profile[far]
               for chain in _chains()
               for near, far in itertools.combinations([one for one in chain if one in drawn], 2))


def _draw(constants, changed, seed, number):
    for attempt in itertools.count():
        def share(name):
            return random.Random(f"{seed} {number} {attempt} {name}").random()

        drawn = dict(constants)
        for name in changed:
            low, high = RANGES.get(name, (0, 0))
            value = (low + (high - low) * share(name) if name in RANGES else
                     constants[name] * 2 ** (2 * share(_owner(name)) - 1))
            whole = isinstance(constants[name], int) and name not in RANGES
            drawn[name] = limited(name, max(1, round(value)) if whole else float(f"{value:.4g}"))
        if not _turned_round(constants, drawn):
            return ",".join(f"{name}={drawn[name]}" for name in changed)


def draws(profile, number, seed):
    """Returns the unchanged machine, and `number` Variants with other values of what is assumed."""
    constants = {**dict.fromkeys(RANGES, 0), **profile.constants()}
    owners = {_owner(name) for name in constants
              if name in profile.assumed or name not in profile.fields}
    changed = [name for name in constants if _owner(name) in owners]
    return [Variant(UNCHANGED, "", every_seed=True),
            *(Variant(f"draw-{seed}-{one:02}", _draw(constants, changed, seed, one), every_seed=True)
              for one in range(1, number + 1))]


def _rates(measured, steady=True):
    """Maps each block (the axes without the log) to the rates of its logs, if it has several."""
    blocks = {}
    for point in measured.points():
        if point.get("log", NO_LOG) != NO_LOG:
            block = tuple(item for item in sorted(point.items()) if item[0] != "log")
            try:
                blocks.setdefault(block, {})[point["log"]] = (
                    measured.evaluate("value('tps', **point)", point=point) if steady else
                    measured.value("tps", **point))
            except NotMeasured:
                pass
    return {block: rates for block, rates in blocks.items()
            if len(measured.points(**dict(block))) > 1}


def _conclusions(measured):
    """Returns the set of all conclusions from the rows of one seed. The best log of a block may be
    unsteady: its rate is near enough for the groups."""
    verdicts = {check["says"]: verdict for check, verdict in measured.checks()}
    rates = _rates(measured)
    best = {block: max(of.values()) for block, of in _rates(measured, steady=False).items()}

    return {*((CHECK, says) for says, verdict in verdicts.items() if verdict in AGREEING),
            *((JUDGED, says) for says, verdict in verdicts.items() if verdict != MISSING),
            *((JUDGED, block, log) for block, of in rates.items() for log in of),
            *((GROUP, block, log, groups.group_of(rate, best[block])) for block, of in rates.items()
              for log, rate in of.items()),
            *((FASTER, block, one, other) for block, of in rates.items()
              for one, other in itertools.permutations(of, 2) if of[one] > of[other])}


class Ensemble:
    """The rows of a folder: the unchanged machine's, and those of each draw without a missing row."""

    def __init__(self, experiment, folder):
        rows = {path.stem: store.Store(path) for path in sorted(folder.glob("draw-*.csv"))
                if "." not in path.stem}
        base = store.Store(folder / f"{UNCHANGED}.csv")
        self.experiment, self.base, self.own, self.counts = experiment, [], set(), {}
        whole = [one for one in rows.values() if base.rows and base.done() <= one.done()]
        self.draws, self.torn = len(whole), len(rows) - len(whole)
        self.machine = folder.name.partition("-")[2]
        self.draw_seeds = sorted({name.split("-")[1] for name in rows})
        if whole:
            self.base = self._of_seeds(base)
            self.own = self._of_machine(self.base)
            self.counts = collections.Counter(itertools.chain.from_iterable(
                self._of_machine(self._of_seeds(one)) for one in whole))

    def _of_seeds(self, rows):
        seeds = sorted({row["round"] for row in rows.rows}, key=int)
        return [Measured(self.experiment, [row for row in rows.rows if row["round"] == seed])
                for seed in seeds]

    @staticmethod
    def _of_machine(of_seeds):
        return set.intersection(*map(_conclusions, of_seeds))

    def _survives(self, conclusion, more=0):
        return conclusion in self.own and self.counts[conclusion] + more >= SHARE * self.draws

    def _verdict(self, conclusion, unsteady=0):
        """Returns "undecided" if the conclusion would survive with the unsteady draws, too."""
        return ("too few draws" if self.draws < LEAST_DRAWS else
                "survives" if self._survives(conclusion) else
                "undecided" if self._survives(conclusion, unsteady) else "does not survive")

    def _checks(self):
        for check, verdict in self.base[0].checks():
            one = (CHECK, check["says"])
            if verdict != OPEN:
                unsteady = self.draws - self.counts[JUDGED, check["says"]]
                yield [check["says"], "yes" if one in self.own else "no",
                       f"{self.counts[one]} of {self.draws}", str(unsteady),
                       self._verdict(one, unsteady)]

    def _groups(self):
        for block, rates in _rates(self.base[0]).items():
            for log in sorted(rates, key=rates.get, reverse=True):
                counts = {name: self.counts[GROUP, block, log, name] for name in groups.SIMULATED}
                own = next((name for name in counts if (GROUP, block, log, name) in self.own), "none")
                unsteady = self.draws - self.counts[JUDGED, block, log]
                yield [" ".join(f"{axis}={value}" for axis, value in block), log, own,
                       *map(str, [*counts.values(), unsteady]),
                       self._verdict((GROUP, block, log, own), unsteady)]

    def _pairs(self):
        of_seeds = [_rates(one) for one in self.base]
        times = {one: statistics.median(rates[one[1]][one[2]] / rates[one[1]][one[3]]
                                        for rates in of_seeds)
                 for one in self.own if one[0] == FASTER}
        for low, high in zip(BANDS, BANDS[1:]):
            found = [one for one, ratio in times.items() if low <= ratio < high]
            if found:
                shares = [sum(self.counts[one] for one in kind) / len(found) / self.draws for kind in (
                    found, [(FASTER, block, slow, fast) for _, block, fast, slow in found])]
                yield [f"{low} to {high}" if high < BANDS[-1] else f"{low} and more",
                       str(len(found)), str(sum(map(self._survives, found))),
                       *(f"{100 * share:.1f} %" for share in shares)]

    def tables(self):
        """Returns (title, columns, lines) of each table that has a line; [] without a whole draw."""
        seeds = len(self.base)
        of = (f"{self.draws} draws of what {self.machine} assumes (--draw_seed="
              f"{', '.join(self.draw_seeds)}), each with {seeds} seed{'s' * (seeds != 1)}"
              + (f"; {self.torn} more are not whole" if self.torn else ""))
        found = [] if not self.base else [
            (f"Conclusions: {of}", ["conclusion", "unchanged", "draws that have it",
                                        "unsteady draws", "verdict"], list(self._checks())),
            (f"Groups of logs: {of}", ["point", "log", "unchanged", *groups.SIMULATED,
                                           "unsteady draws", "verdict"],
             list(self._groups())),
            (f"Pairs of logs, by the unchanged machine's ratio: {of}",
             ["times as fast", "pairs", "survive", "draws with the same order", "with the other"],
             list(self._pairs()))]
        return [table for table in found if table[2]]
