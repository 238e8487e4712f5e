"""Finds the claims that stay true if a simulated machine's constants are halved and doubled, one at
a time.

A profile's constants are measured, read in the literature or assumed. If a claim depends on a
constant, the claim is only as good as the constant. A variant of the machine has one changed
constant, and runs the points that the checks read. A variant has no effect if its rows of the first
seed equal the unchanged machine's rows (to the last digit, because the simulation is
deterministic). Such a variant runs only the first seed. With --screen, a variant runs the other
seeds only if a check changes its verdict with the first seed. Screening takes a third of the time,
and misses constants that change a verdict only with some seeds.

Each variant has its own file of rows in results/<id>/sensitivity-<machine>/, so the next call
continues a stopped run.

Points that no check reads do not run. A check like `value('tps', log='a') > 2 and all(x < 1 for x
in values('tps', log='b'))` stops at the first false comparison, and then does not read its last
points. So each check is evaluated once with a placeholder for every number. All comparisons of a
placeholder are true, so each `and` and `all` is evaluated to its end. The recorder notes every
point that the check reads. (It would miss the second operand of an `or`.) """

import copy
import dataclasses
import pathlib

from experiments import files, round_loop, sim_runner, store
from experiments.analysis import Measured
from experiments.definition import text
from experiments.errors import Refused
from experiments.runner import PointRefused
from experiments.verdicts import AGREEING, OPEN

UNCHANGED = "unchanged"
LEAST = {"overlap": 1.0}  # with the factor 1, cache misses do not overlap
MOST = {"context_share": 1.0, "occupancy": 1.0, "hold": 1.0}  # shares of a whole: at most 1
# Columns that differ even between two equal runs.
OF_THE_RUN = {"given", "began", "host_seconds", "flags", "machine", "binary", "profile"}


@dataclasses.dataclass
class Variant:
    """Changed constants, or no change. `name` is also the name of the rows' file. Without
    `every_seed` the first seed may be enough."""

    name: str
    setting: str
    every_seed: bool = False


@dataclasses.dataclass
class Survival:
    """The results of a check. On the unchanged machine, the check agrees in `agrees` of `seeds` seeds.
    `otherwise`: the variants with a verdict that is not the unchanged machine's usual verdict."""

    says: str
    agrees: int
    seeds: int
    variants: int
    otherwise: list


def variants(profile, only=()):
    """Returns the unchanged machine, and then each constant halved and doubled."""
    constants = profile.constants()
    unknown = sorted(set(only) - set(constants))
    if unknown:
        raise Refused(f"{profile.name} has no constant {unknown[0]} that it uses; there are "
                      f"{', '.join(constants)}")
    found = [Variant(UNCHANGED, "", every_seed=True)]
    for constant, value in constants.items():
        if only and constant not in only:
            continue
        for changed in _changed(constant, value):
            word = "halved" if changed < value else "doubled"
            found.append(Variant(f"{constant}-{word}", f"{constant}={changed}"))
    return found


def limited(constant, value):
    """Returns the value nearest to `value` that the constant can have."""
    at_least = max(value, LEAST.get(constant, value))
    return min(at_least, MOST.get(constant, at_least))


def _changed(constant, value):
    half = max(1, value // 2) if isinstance(value, int) else value / 2
    return [changed for changed in (limited(constant, half), limited(constant, 2 * value))
            if changed != value]


def folder_of(results, experiment, profile_name, kind="sensitivity"):
    folder = pathlib.Path(results) / experiment.id.lower() / f"{kind}-{profile_name}"
    files.refuse_link(folder.parent)
    files.refuse_link(folder)
    return folder


def _jobs(points, seeds, variant, rows):
    own = [dataclasses.replace(point, flags={**point.flags, **(
        {"set": variant.setting} if variant.setting else {})}) for point in points]
    return [sim_runner.Job(rows, number, point)
            for number, point in round_loop.jobs_left(own, seeds, rows)]


def _done(rows):
    """Maps points to their rows of the first seed, without the columns of OF_THE_RUN."""
    return {store.key_of(row): {name: value for name, value in row.items()
                                if name not in OF_THE_RUN and value != ""}
            for row in rows.rows if row["round"] == "1"}


def run(experiment, points, of_machine, folder, made, progress, seeds, screen=False):
    """Runs missing jobs with the SimulatedRunners `made`. Returns {refused variant: reason}."""
    points = select(experiment, points)
    rows = {one.name: store.Store(folder / f"{one.name}.csv") for one in of_machine}
    refused = {}

    def run_all(number_of):
        jobs = [job for one in of_machine if one.name not in refused
                for job in _jobs(points, number_of(one), one, rows[one.name])]
        progress.total = progress.done + len(jobs)
        left_out = sim_runner.run_jobs(experiment.id, jobs, made, progress, skip=PointRefused)
        refused.update((job.rows.path.stem, why) for job, why in left_out)

    run_all(lambda one: seeds if one.every_seed else 1)
    if UNCHANGED in refused:
        raise Refused(refused[UNCHANGED])
    same, usual = _done(rows[UNCHANGED]), _usual(_verdicts(experiment, rows[UNCHANGED].rows))

    def first_seed_is_enough(one):
        return _done(rows[one.name]) == same or (
            screen and _verdicts(experiment, rows[one.name].rows)[0] == usual)

    run_all(lambda one: 1 if first_seed_is_enough(one) else seeds)
    for one in of_machine:
        rows[one.name].arrange(points)
    return refused


def _verdicts(experiment, rows):
    seeds = sorted({row["round"] for row in rows}, key=int)
    return [[verdict for _, verdict in Measured(
        experiment, [row for row in rows if row["round"] == seed]).checks()] for seed in seeds]


def _usual(of_seeds):
    """Returns each check's most frequent verdict, or in a tie the first seed's verdict."""
    return [max(verdicts, key=verdicts.count) for verdicts in zip(*of_seeds)]


def survivals(experiment, folder):
    """Returns a Survival for each check that is not open; [] if `folder` has no rows."""
    base = store.Store(folder / f"{UNCHANGED}.csv").rows
    if not base:
        return []
    here = _verdicts(experiment, base)
    others = {path.stem: _verdicts(experiment, store.Store(path).rows)
              for path in sorted(folder.glob("*.csv"))
              if path.stem != UNCHANGED and "." not in path.stem}
    found = []
    for place, (check, usual) in enumerate(zip(experiment.checks, _usual(here))):
        wanted = [verdicts[place] for verdicts in here]
        if OPEN in wanted:
            continue
        otherwise = []
        for name, of_seeds in others.items():
            differ = sum(verdicts[place] != usual for verdicts in of_seeds)
            if differ:
                otherwise.append(f"{name.replace('-', ' ')} ({differ} of {len(of_seeds)} seeds)")
        found.append(Survival(check["says"], sum(one in AGREEING for one in wanted), len(wanted), len(others),
                              otherwise))
    return found


COLUMNS = ["check", "unchanged", "variants", "comes out otherwise with"]


def lines(found):
    return [[one.says, f"agrees in {one.agrees} of {one.seeds} seeds", str(one.variants),
             "; ".join(one.otherwise) or "none: it survives all"] for one in found]


class Placeholder:
    """Replaces a number. Arithmetic with a placeholder gives a placeholder; comparisons are true."""

    def _placeholder(self, *_):
        return self

    def _true(self, *_):
        return True

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _placeholder
    __truediv__ = __rtruediv__ = __neg__ = __abs__ = __pow__ = _placeholder
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __bool__ = _true
    __hash__ = object.__hash__

    def __float__(self):
        return 1.0


class _Recorder(Measured):
    """A Measured of placeholders. Notes in `asked` each point that a check reads."""

    def __init__(self, experiment, points):
        experiment = copy.copy(experiment)
        experiment.columns = {}  # there are no values to compute these columns from
        super().__init__(experiment, [
            {"round": "1", **{f"axis_{axis}": text(value) for axis, value in point.axes.items()}}
            for point in points])
        self.asked = set()

    def column(self, name, axes):
        self.asked.add(tuple(sorted(axes.items())))
        if name in self.experiment.ratios:
            self.asked.add(tuple(sorted(self.reference(name, axes).items())))
        return {1: Placeholder()}


def select(experiment, points):
    """Returns the points that the checks read. Returns all `points` if there are no checks."""
    recorder = _Recorder(experiment, points)
    recorder.checks()
    return [point for point in points
            if not recorder.asked or tuple(sorted(point.axes.items())) in recorder.asked]
