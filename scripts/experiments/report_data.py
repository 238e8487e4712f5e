"""Collects the data of a report: each experiment with its rows.

An experiment may have several files of rows: two sizes, and files from simulated machines, whose
column `machine` begins with "simulated". Each file is a Run: native and simulated rows never mix.
In the first tables, a check has the native Run's verdict. If the native Run does not judge the
check, the verdict of a simulated Run counts, whether good or bad.
"""

import dataclasses
import datetime
import functools
import pathlib
import re
import statistics
import subprocess

from experiments import (definition, doubts, ensemble, files, findings, sensitivity, validation,
                         verdicts)
from experiments.analysis import Measured
from experiments.errors import Refused
from experiments.store import Store, key_of

THIS = "this"  # the profile of this machine
PACED = "-paced"  # ends the name of rows whose transactions take as long as in the paper's engine
NAME = re.compile(r"[A-Za-z0-9_+-]+")  # name of a file of rows, used in commands and links
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RUN_BY_ALL = ("logging", "cc", "engine", "workloads", "platform")
REVISION = re.compile(r"[0-9A-Za-z][0-9A-Za-z._+-]*")
INCLUDED = re.compile(r'#include "workloads/(\w+)/')  # by the code of another workload
PRESETS = re.compile(r"\{config\}/(\S+)")  # presets in the rows' flags
FALLING = (verdicts.DIRECTION, verdicts.DISAGREES, verdicts.UNDECIDED)
LONGEST_RUN_SECONDS = 120  # a longer pause between two rows counts as 120 s


def _moment(cell):
    try:
        moment = datetime.datetime.fromisoformat(cell or "")
    except ValueError:
        return None
    return moment if moment.tzinfo else None


@functools.lru_cache(maxsize=None)
def commits_since(revision, paths):
    """Returns how many commits after `revision` changed `paths`, or None if unknown."""
    if not REVISION.fullmatch(revision):
        return None  # git could read `revision` as an option
    try:
        done = subprocess.run(["git", "-C", ROOT, "rev-list", "--count", f"{revision}..HEAD", "--",
                               *paths], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return int(done.stdout)


def paths_of(rows, profile):
    """Returns the code, presets and profile on which rows depend, as pathspecs of git. `profile`:
    "" for native rows."""
    presets = {f"config/{path}" for row in rows for path in PRESETS.findall(row.get("given") or "")}
    machine = ("sim", f"config/machines/{profile}.toml") if profile else ()
    return (*RUN_BY_ALL, *machine, *sorted(presets), *unused_workloads(rows))


def unused_workloads(rows):
    """Returns pathspecs that exclude the folders of workloads whose code no row has run. A row that
    names no workload may have run any; `logjam micro` has its own."""
    left = {"log_insert" if (row.get("given") or "").startswith("micro ") else
            (row.get("workload") or "").replace("-", "_") for row in rows}
    if "" in left:
        return []
    used = set()
    while left:
        used |= left
        left = {name for folder in left for path in (ROOT / "workloads" / folder).glob("*")
                for name in INCLUDED.findall(path.read_text(encoding="utf-8"))} - used
    return [f":(exclude)workloads/{path.name}" for path in sorted((ROOT / "workloads").iterdir())
            if path.is_dir() and path.name not in used]


def stale_sentence(rows, profile):
    """Returns a sentence about rows whose code has changed since their runs, or ""."""
    for revision in dict.fromkeys(row.get("revision", "") for row in rows):
        commits = commits_since(revision, paths_of(rows, profile))
        if commits is None:
            return f"revision {revision} is not in this repository: its code may have changed since"
        if commits:
            return (f"{commits} commit{'s' * (commits > 1)} after revision {revision} changed code "
                    "or presets that made these rows")
    return ""


@dataclasses.dataclass
class Run:
    """The rows of a file. `name` is the file's name, like "quick" or "quick-sapphire"."""

    name: str
    path: pathlib.Path
    measured: Measured
    extras: dict

    def __post_init__(self):
        origin = self.measured.origin
        self.machine, self.revision = origin.get("machine", ""), origin.get("revision", "")
        self.simulated = self.measured.simulated
        self.paced = self.name.endswith(PACED)
        self.size, _, self.profile = self.name.removesuffix(PACED).partition("-")
        self.label = (f"simulated {self.profile}" + ", paced" * self.paced if self.simulated
                      else "here")
        self.figure = self.path.with_suffix(".png")

    @functools.cached_property
    def checks(self):
        return self.measured.checks()

    @property
    def badge(self):
        return verdicts.badge([verdict for _, verdict in self.checks])

    @property
    def words(self):
        said, note, _ = verdicts.words_of_figure(self.measured.experiment, self.checks)
        return said or "no check", note

    @property
    def unsteady(self):
        """Returns how many rows are unsteady. They judge nothing, native and simulated alike."""
        return sum(map(doubts.unsteady, self.measured.rows))

    @property
    def stale(self):
        return stale_sentence(self.measured.rows, self.profile if self.simulated else "")

    @property
    def outdated(self):
        """Returns how many rows have other flags than their points have now."""
        one = self.measured.experiment
        if self.simulated and one.simulated is None:
            return 0
        points = one.points(self.size, simulated=self.simulated, paced=self.paced)
        now = {tuple(sorted(point.axes.items())): point.command_line() for point in points}
        given = ((row.get("given"), now.get(key_of(row)[1])) for row in self.measured.rows)
        return sum(None not in pair and pair[0] != pair[1] for pair in given)

    @property
    def old(self):
        """Returns why the rows are not those that a run of today would make, or ""."""
        settings = (f"{self.outdated} of {len(self.measured.rows)} rows were made with other "
                    "settings than the file has now" if self.outdated else "")
        return "; ".join(part for part in (self.stale, settings) if part)

    def began(self):
        moments = (_moment(row.get("began")) for row in self.measured.rows)
        return sorted(moment for moment in moments if moment)

    def seconds(self):
        """Returns the seconds that the runs took, with pauses cut to LONGEST_RUN_SECONDS."""
        began = self.began()
        gaps = [min(LONGEST_RUN_SECONDS, (b - a).total_seconds())
                for a, b in zip(began, began[1:])]
        return sum(gaps) + (statistics.median(gaps) if gaps else 0)


def _decides_less(verdict):
    """Returns a sort key: judged verdicts come first, then undecided verdicts, then all others."""
    return 0 if verdict in verdicts.JUDGED else 1 if verdict == verdicts.UNDECIDED else 2


@dataclasses.dataclass
class Table:
    title: str
    sentences: list
    columns: list
    lines: list


@dataclasses.dataclass
class Entry:
    """An experiment and its Runs, the native Run first. `tables` compare several Runs."""

    experiment: definition.Experiment
    runs: list
    tables: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.ids = [self.experiment.id, *self.experiment.also]
        self.native = next((run for run in self.runs if not run.simulated), None)
        self.simulated = [run for run in self.runs if run.simulated]

    @functools.cached_property
    def judged(self):
        """Pairs each check with a verdict and the Run of this verdict. The Run is simulated only if
        it decides more than the native Run."""
        if not self.runs:
            return [(check, verdicts.MISSING, None) for check in self.experiment.checks]
        found = []
        for place, check in enumerate(self.experiment.checks):
            of_runs = [(run.checks[place][1], run) for run in self.runs]
            verdict, run = min(of_runs, key=lambda one: _decides_less(one[0]))
            found.append((check, verdict, run))
        return found

    @property
    def shown(self):
        """Returns the Run that decides the most checks. The tables show its figure."""
        judges = [run for _, verdict, run in self.judged if verdict in verdicts.JUDGED]
        return max(self.runs, key=judges.count, default=None)

    @property
    def ordered(self):
        return sorted(self.runs, key=lambda run: run is not self.shown)

    @property
    def verdicts(self):
        return [verdict for _, verdict, _ in self.judged]

    @property
    def badge(self):
        return verdicts.badge(self.verdicts)

    @functools.cached_property
    def findings(self):
        return findings.of_entry(self)

    def _judges(self):
        """Returns the simulated machines that decide checks, and whether only they do."""
        runs = [run for _, verdict, run in self.judged if verdict in verdicts.JUDGED]
        there = list(dict.fromkeys(run.label for run in runs if run.simulated))
        return there, bool(runs) and all(run.simulated for run in runs)

    @property
    def words(self):
        if not self.runs:
            return "not run"
        if self.experiment.own and not self.experiment.checks:
            return "no check"
        there, alone = self._judges()
        said = verdicts.words(self.verdicts)
        return said + (f", {' and '.join(there)}" if alone and said != verdicts.UNTESTED else "")

    @property
    def note(self):
        """Returns counts of verdicts, the deciding simulated machines, and Runs that disagree."""
        there, alone = self._judges()
        said = [verdicts.note(self.verdicts) if self.runs else ""]
        if verdicts.OPEN in self.verdicts:
            said.append(f"needs {verdicts.cores_needed(self.experiment)} cores")
        if there and not alone:
            by = [run for _, verdict, run in self.judged
                  if verdict in verdicts.JUDGED and run.simulated]
            said.append(f"{len(by)} judged by {' and '.join(there)}")
        for run in self.runs:
            others = sum(verdict in verdicts.JUDGED and by is not run and
                         run.checks[place][1] in verdicts.JUDGED and verdict != run.checks[place][1]
                         for place, (_, verdict, by) in enumerate(self.judged))
            if others:
                said.append(f"{run.label} {others} of them "
                            f"{'comes' if others == 1 else 'come'} out otherwise")
        return "; ".join(part for part in said if part)

    @property
    def why(self):
        """Returns the reasons of the checks that do not agree or are undecided. If all checks need
        more cores, returns their reason, or else how our setting differs from the paper's."""
        if self.verdicts and set(self.verdicts) == {verdicts.OPEN}:
            return self.experiment.why or self.experiment.here
        falling = {run.simulated for run in self.runs for _, verdict in run.checks
                   if verdict in FALLING}
        native = self.experiment.why if False in falling else ""
        there = (self.experiment.simulated.why if self.experiment.simulated and True in falling
                 else "")
        return " ".join(part for part in (native, there and f"Simulated: {there}") if part)


def runs_of(experiment, results):
    """Returns the experiment's Runs. A full size hides the quick size of the same machine. Rows
    with the paper's pace come before those without, so they judge first."""
    folder = pathlib.Path(results) / experiment.id.lower()
    files.refuse_link(folder)
    found = []
    for path in sorted(folder.glob("*.csv")):
        if "." in path.stem or path.stem.split("-")[0] not in definition.SIZES:
            continue  # a file of extra rows, or of another program
        if not NAME.fullmatch(path.stem):
            raise Refused(f"{str(path)!r} has a name that no machine gives its rows")
        store = Store(path)
        if store.rows:
            found.append(Run(path.stem, path, Measured(experiment, store.rows), store.extras))
    full = {(run.profile, run.paced) for run in found if run.size == "full"}
    found = [run for run in found if run.size == "full" or (run.profile, run.paced) not in full]
    own = experiment.simulated.machine if experiment.simulated else ""
    return sorted(found, key=lambda run: (run.simulated, run.profile != own, not run.paced,
                                          run.name))


def tables_of(experiment, runs, results):
    """Returns Tables: simulated rates beside native rates, and verdicts with other constants."""
    found, native = [], next((run for run in runs if not run.simulated), None)
    for run in runs if native else []:
        if run.profile == THIS:
            cells = validation.cells(native.measured, run.measured)
            found.append(Table("Simulated beside native", validation.summary(cells),
                               validation.columns(cells), validation.lines(cells)))
    begin = "sensitivity-"
    for folder in sorted(pathlib.Path(results, experiment.id.lower()).glob(begin + "*")):
        files.refuse_link(folder)
        lines = sensitivity.lines(sensitivity.survivals(experiment, folder))
        if lines:
            found.append(Table(f"Each constant of {folder.name[len(begin):]} halved and doubled",
                               [], sensitivity.COLUMNS, lines))
    for folder in sorted(pathlib.Path(results, experiment.id.lower()).glob("draws-*")):
        files.refuse_link(folder)
        found += [Table(title, [], columns, lines)
                  for title, columns, lines in ensemble.Ensemble(experiment, folder).tables()]
    return found


def collect(results, experiments=None):
    found = []
    for one in (experiments or definition.load_all()).values():
        runs = runs_of(one, results)
        found.append(Entry(one, runs, tables_of(one, runs, results)))
    return found


def summary(entries):
    published = [entry for entry in entries if not entry.experiment.own]
    runs = [run for entry in entries for run in entry.runs]
    native = [run for run in runs if not run.simulated]
    there = [run for run in runs if run.simulated]
    began = sorted(moment for run in native for moment in run.began())
    return {
        "of": len(published),
        "decided_simulated": sum(any(run and run.simulated and verdict in verdicts.JUDGED
                                     for _, verdict, run in entry.judged) for entry in published),
        "checks": findings.counts(findings.of_entries(published)),
        "untested": [entry.experiment.id for entry in published if entry.badge == verdicts.UNTESTED],
        "stale": sum(any(run.stale for run in entry.runs) for entry in published),
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
        "doubts": doubts.sentences([row for run in native for row in run.measured.rows]),
        "thrown_away": sum(run.measured.thrown_away for run in native),
    }
