"""All that a report is made from: each experiment with the rows that were measured for it.

An experiment may have several files of rows: two sizes, and those of simulated machines, whose
column `machine` begins with "simulated". A native run and a simulated one are never mixed: each is
a Run of its own. The verdict in the first tables is the native one's; where that is open, because
the claim needs more cores, it is the simulated one's, and says so.
"""

import dataclasses
import datetime
import pathlib
import statistics

from experiments import definition, plots, sensitivity, validation
from experiments.analysis import FAILS, HOLDS, MISSING, OPEN, Measured
from experiments.store import Store, key_of

THIS = "this"  # the profile of the machine at hand
LONGEST_RUN_SECONDS = 120  # a longer pause between two rows is not work


@dataclasses.dataclass
class Run:
    """The rows of one file. `name` is the file's, like "quick" or "quick-sapphire"."""

    name: str
    path: pathlib.Path
    measured: Measured
    extras: dict

    @property
    def machine(self):
        return self.measured.origin.get("machine", "")

    @property
    def revision(self):
        return self.measured.origin.get("revision", "")

    @property
    def simulated(self):
        return self.measured.simulated

    @property
    def size(self):
        return self.name.split("-")[0]

    @property
    def profile(self):
        """The simulated machine's name, as --machine has it."""
        return self.name.partition("-")[2]

    @property
    def label(self):
        """Where the rows are from, in a word or two."""
        return f"simulated {self.profile}" if self.simulated else "here"

    @property
    def decided(self):
        return self.verdict in (HOLDS, FAILS)

    @property
    def verdict(self):
        return self.measured.verdict()

    @property
    def words(self):
        """The verdict, and a note on the checks that are open beside it."""
        said, note, _ = plots.verdict_words(self.measured.experiment, self.measured)
        return said or "no check", note

    @property
    def outdated(self):
        """How many rows were made with other flags than their points have now."""
        one = self.measured.experiment
        if self.simulated and one.simulated is None:
            return 0
        points = one.points(self.size, simulated=self.simulated)
        now = {tuple(sorted(point.axes.items())): point.command_line() for point in points}
        given = ((row.get("given"), now.get(key_of(row)[1])) for row in self.measured.rows)
        return sum(None not in pair and pair[0] != pair[1] for pair in given)

    @property
    def figure(self):
        return self.path.with_suffix(".png")

    def began(self):
        """Returns when the rows' runs began: datetimes, sorted."""
        return sorted(datetime.datetime.fromisoformat(row["began"])
                      for row in self.measured.rows if row.get("began"))

    def seconds(self):
        """Returns how long the runs took, without pauses."""
        began = self.began()
        gaps = [min(LONGEST_RUN_SECONDS, (b - a).total_seconds())
                for a, b in zip(began, began[1:])]
        return sum(gaps) + (statistics.median(gaps) if gaps else 0)


@dataclasses.dataclass
class Table:
    title: str
    sentences: list
    columns: list
    lines: list


@dataclasses.dataclass
class Entry:
    """An experiment and its Runs: the native one of the larger size first, then the simulated.
    `tables` are what was found of several runs together."""

    experiment: definition.Experiment
    runs: list
    tables: list = dataclasses.field(default_factory=list)

    @property
    def ids(self):
        return [self.experiment.id, *self.experiment.also]

    @property
    def native(self):
        return next((run for run in self.runs if not run.simulated), None)

    @property
    def simulated(self):
        """The simulated runs, the one on the machine that the file names first."""
        return [run for run in self.runs if run.simulated]

    @property
    def shown(self):
        """The run whose verdict stands in the tables: the native one, or the first of the simulated
        ones that decides what it leaves open."""
        if self.native and self.native.decided:
            return self.native
        return next((run for run in self.simulated if run.decided),
                    self.native or next(iter(self.runs), None))

    @property
    def verdict(self):
        return self.shown.verdict if self.shown else MISSING

    @property
    def words(self):
        if not self.shown:
            return "not run"
        return self.shown.words[0] + (f", {self.shown.label}" if self.shown.simulated else "")

    @property
    def note(self):
        """What the verdict's words do not say: checks that are open beside it, other machines."""
        if not self.shown:
            return ""
        said = [self.shown.words[1]]
        for run in self.runs:
            if run is not self.shown and (run.decided or not run.simulated):
                said.append(f"{run.label} {run.words[0]}")
        return "; ".join(part for part in said if part)

    @property
    def why(self):
        """One line: the reason found, if the claim does not hold; else what differs here."""
        if self.verdict == OPEN:
            return self.experiment.why or self.experiment.here
        native = self.experiment.why if self.native and self.native.verdict == FAILS else ""
        there = (self.experiment.simulated.why if self.experiment.simulated and
                 FAILS in (run.verdict for run in self.simulated) else "")
        return " ".join(part for part in (native, there and f"Simulated: {there}") if part)


def runs_of(experiment, results):
    """Returns the experiment's Runs. A full size hides the quick one of the same machine."""
    folder = pathlib.Path(results) / experiment.id.lower()
    found = []
    for path in sorted(folder.glob("*.csv")):
        if "." in path.stem or path.stem.split("-")[0] not in definition.SIZES:
            continue  # rows of extras, or another tool's
        store = Store(path)
        if store.rows:
            found.append(Run(path.stem, path, Measured(experiment, store.rows), store.extras))
    full = {run.profile for run in found if run.size == "full"}
    found = [run for run in found if run.size == "full" or run.profile not in full]
    own = experiment.simulated.machine if experiment.simulated else ""
    return sorted(found, key=lambda run: (run.simulated, run.profile != own, run.name))


def tables_of(experiment, runs, results):
    """Returns Tables: how far rows of this machine and of its profile are apart, and which checks
    survive other constants, for each machine on which these were varied."""
    found, native = [], next((run for run in runs if not run.simulated), None)
    for run in runs if native else []:
        if run.profile == THIS:
            cells = validation.cells(native.measured, run.measured)
            found.append(Table("Simulated beside native", validation.summary(cells),
                               validation.columns(cells), validation.lines(cells)))
    begin = "sensitivity-"
    for folder in sorted(pathlib.Path(results, experiment.id.lower()).glob(begin + "*")):
        lines = sensitivity.lines(sensitivity.survivals(experiment, folder))
        if lines:
            found.append(Table(f"Each constant of {folder.name[len(begin):]} halved and doubled",
                               [], sensitivity.COLUMNS, lines))
    return found


def collect(results, experiments=None):
    """Returns an Entry for each experiment, published results first."""
    found = []
    for one in (experiments or definition.load_all()).values():
        runs = runs_of(one, results)
        found.append(Entry(one, runs, tables_of(one, runs, results)))
    return found


def summary(entries):
    """Returns the figures at the report's beginning: counts, machines, revisions, dates, time
    taken."""
    published = [entry for entry in entries if not entry.experiment.own]
    verdicts = [entry.verdict for entry in published]
    runs = [run for entry in entries for run in entry.runs]
    native = [run for run in runs if not run.simulated]
    there = [run for run in runs if run.simulated]
    began = sorted(moment for run in native for moment in run.began())
    return {
        "of": len(published),
        "decided_simulated": sum(entry.shown.simulated for entry in published
                                 if entry.shown and entry.shown.decided),
        "holds": verdicts.count(HOLDS), "fails": verdicts.count(FAILS),
        "open": verdicts.count(OPEN), "missing": verdicts.count(MISSING),
        "machines": list(dict.fromkeys(run.machine for run in native)),
        "simulated": list(dict.fromkeys(run.machine for run in there)),
        "simulated_revisions": list(dict.fromkeys(run.revision for run in there)),
        "simulated_rows": sum(len(run.measured.rows) for run in there),
        "revisions": list(dict.fromkeys(run.revision for run in native)),
        "sizes": list(dict.fromkeys(run.size for run in native)),
        "dates": [began[0].date().isoformat(), began[-1].date().isoformat()] if began else [],
        "outdated": sum(run.outdated > 0 for entry in published for run in entry.runs[:1]),
        "minutes": sum(run.seconds() for run in native) / 60,
        "rows": sum(len(run.measured.rows) for run in native),
        "thrown_away": sum(run.measured.thrown_away for run in native),
    }
