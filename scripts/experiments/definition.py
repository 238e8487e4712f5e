"""Reads and checks an experiment: a file of config/figures/ or config/experiments/.

docs/EXPERIMENTS.md describes the format. Before any run, a mistake in the file is refused with one
sentence: for example, an unknown field, or a size that narrows an axis to a value that the axis
does not have.
"""

import dataclasses
import functools
import itertools
import pathlib
import re
import typing

from experiments import tomllib
from experiments.errors import Refused
from experiments.style import SCHEMES

CONFIG = pathlib.Path(__file__).resolve().parent.parent.parent / "config"
PACES = CONFIG / "papers" / "paces.toml"
SIZES = {"quick": {"rounds": 3, "seconds": 0.5, "warmup": 0.2},
         "full": {"rounds": 5, "seconds": 5, "warmup": 1}}
COMMANDS = ("run", "micro", "recover", "dump")
PREPARED = ("recover", "dump")  # these commands read a log, which `prepare` writes first
PLOTS = ("lines", "points", "bars", "stacked", "cdf", "timeline", "dependencies")
FIELDS = {"id", "also", "source", "title", "claim", "published", "setting", "here", "needs_cores",
          "why", "grid", "quick", "full", "columns", "table", "plot", "published_points", "number",
          "check", "simulated", "cause"}
GRID_FIELDS = {"command", "flags", "axes", "prepare", "prepare_axes"}
SIZE_FIELDS = {"rounds", "seconds", "warmup", "axes", "flags", "prepare"}
CHECK_FIELDS = {"quotes", "says", "holds", "ours", "published", "derived", "band", "shape",
                "because", "device_bound", "cause", "needs_cores"}
BEST_FIELDS = {"of", "over", "where"}
CAUSES = ("model", "machine", "implementation", "setting", "paper")
SIMULATED_FIELDS = {"machine", "here", "why", "number", "grid", "quick", *SIZE_FIELDS - {"prepare"}}
SIMULATED = {"rounds": 1, "seconds": 0.005, "warmup": 0.001}  # virtual seconds; a round is a seed


@dataclasses.dataclass
class Point:
    """One cell of an experiment's grids, measured by one run of logjam. `axes` maps names to
    values (texts). `prepare` has the flags of the run that writes the log to read, or is None."""

    index: int
    axes: dict
    command: str
    flags: dict
    prepare: typing.Optional[dict] = None

    @property
    def name(self):
        return " ".join(f"{axis}={value}" for axis, value in self.axes.items()) or "all"

    def command_line(self):
        """Returns the command and its flags, still with {dir}, {memory} and {config}."""
        def flags(of):
            return " ".join(f"--{name}" if value is None else f"--{name}={text(value)}"
                            for name, value in of.items())
        if self.prepare is None:
            return f"{self.command} {flags(self.flags)}"
        return f"run {flags(self.prepare)}; {self.command} {flags(self.flags)}"


@dataclasses.dataclass
class Size:
    """The seconds of each run, and the number of rounds."""

    name: str
    rounds: int
    seconds: float
    warmup: float
    axes: dict
    flags: dict
    prepare: dict


@dataclasses.dataclass
class Simulated:
    """The changes of an experiment on a simulated machine."""

    machine: str
    here: str
    why: str
    number: dict
    grids: list
    sizes: dict


def text(value):
    """Returns a value in a command line's form. {"txns": 8, "us": 500} becomes txns:8,us:500."""
    if isinstance(value, dict):
        return ",".join(f"{key}:{text(of)}" for key, of in value.items())
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


EVERY = "every"  # stands for all log schemes, each on the device that it needs


def _flags_of_axis(axis, values, schemes=None):
    """Maps the names of an axis' values to the flags of the values."""
    if values == EVERY:
        values = schemes() if schemes else {}
    return values if isinstance(values, dict) else {text(value): {axis: value} for value in values}


def _merged(flags, over):
    """Returns `flags`, overridden by `over`. Merges dicts key by key."""
    merged = dict(flags)
    for name, value in over.items():
        both = isinstance(value, dict) and isinstance(merged.get(name), dict)
        merged[name] = {**merged[name], **value} if both else value
    return merged


def _narrowed(named, wanted):
    """Returns an axis' values that a size keeps. The size's flags override the grid's flags."""
    if isinstance(wanted, dict):
        return {name: _merged(flags, wanted[name]) for name, flags in named.items() if name in wanted}
    kept = {text(value) for value in wanted}
    return {name: flags for name, flags in named.items() if name in kept}


def _axes_of(grid):
    """Yields (axis, values, "prepare" or "flags") for a grid, first the axes of `prepare`."""
    for axes, flags in (("prepare_axes", "prepare"), ("axes", "flags")):
        for axis, values in grid.get(axes, {}).items():
            yield axis, values, flags


class Experiment:
    """An experiment's file. `own`: a measurement of logjam's own, not a published result."""

    def __init__(self, fields, where, own=False):
        self.where, self.own = where, own
        self._refuse_unknown(fields, FIELDS, "has")
        for field in ("id", "title", "claim", "grid"):
            self._refuse_if(field not in fields, f"has no field {field}")
        for field in ("source", "published", "setting", "here", "why", "cause"):
            setattr(self, field, fields.get(field, ""))
        self.id, self.also = fields["id"], fields.get("also", [])
        self.title, self.claim = fields["title"], fields["claim"]
        self.needs_cores = max(1, fields.get("needs_cores", 1))
        self.grids, self.columns = fields["grid"], fields.get("columns", {})
        table = fields.get("table", {})
        self.table_columns, self.ratios = table.get("columns", []), table.get("ratios", {})
        self.if_above, self.best = table.get("if_above", {}), table.get("best", {})
        self.plot, self.number = fields.get("plot", {}), fields.get("number", {})
        self.published_points = fields.get("published_points", [])
        self.checks = fields.get("check", [])
        self.sizes = {name: self._size(name, fields.get(name, {})) for name in SIZES}
        self.simulated = self._simulated(fields["simulated"]) if "simulated" in fields else None
        self._check_grids(self.grids, self.sizes)
        if self.simulated:
            self._check_grids(self.simulated.grids, self.simulated.sizes)
        self.names = {(axis, way): log for axis, way, log in self._renamed()}
        for cause in (self.cause, *(check.get("cause", "") for check in self.checks)):
            self._refuse_if(cause not in ("", *CAUSES),
                            f"has the cause {cause}; there are {', '.join(CAUSES)}")
        for check in self.checks:
            self._refuse_bad_check(check)
        self._refuse_if(self.best and set(self.best) != BEST_FIELDS,
                        f"has a table.best that is not {', '.join(sorted(BEST_FIELDS))}")
        self._refuse_if(self.best and self.best["over"] not in self.axis_names(),
                        f"has a table.best over {self.best.get('over')}, which is no axis")
        kind = self.plot.get("kind", "lines")
        self._refuse_if(kind not in PLOTS, f"has a plot of kind {kind}; there are {PLOTS}")

    def _refuse_if(self, wrong, what):
        if wrong:
            raise Refused(f"{self.where} {what}")

    def _refuse_unknown(self, fields, known, has):
        unknown = ", ".join(sorted(set(fields) - known))
        self._refuse_if(unknown, f"{has} unknown fields: {unknown}")

    def _refuse_bad_check(self, check):
        self._refuse_unknown(check, CHECK_FIELDS, "has a check with")
        self._refuse_if("says" not in check, "has a check that does not say what it computes")
        name = f'has a check, "{check["says"]}", '
        self._refuse_if(("holds" in check) == ("ours" in check),
                        f"{name}that needs either holds or ours")
        self._refuse_if(("ours" in check) != ("published" in check),
                        f"{name}in which ours and published do not go together")
        self._refuse_if("derived" in check and "published" not in check,
                        f"{name}in which nothing published is derived")
        self._refuse_if("band" in check and (len(check["band"]) != 2 or "ours" not in check),
                        f"{name}whose band is not two numbers for ours")
        self._refuse_if("band" in check and "because" not in check,
                        f"{name}that does not say, in because, why its band is its own")

    def _size(self, name, given):
        self._refuse_unknown(given, SIZE_FIELDS, f"[{name}] has")
        values = {**SIZES.get(name, {}), "axes": {}, "flags": {}, "prepare": {}, **given}
        self._refuse_if(values["rounds"] < 1, f"[{name}] has no rounds")
        return Size(name, **values)

    def _simulated(self, given):
        self._refuse_unknown(given, SIMULATED_FIELDS, "[simulated] has")
        self._refuse_if("machine" not in given, "[simulated] names no machine")
        full = {**SIMULATED, **{name: given[name] for name in SIZE_FIELDS if name in given}}
        quick = given.get("quick", {})
        merged = {"axes": {**full.get("axes", {}), **quick.get("axes", {})},
                  "flags": _merged(full.get("flags", {}), quick.get("flags", {}))}
        sizes = {"full": self._size("simulated", full),
                 "quick": self._size("simulated.quick", {**full, **quick, **merged})}
        return Simulated(given["machine"], given.get("here", ""), given.get("why", ""),
                         given.get("number", self.number), given.get("grid", self.grids), sizes)

    def form(self, size, simulated=False):
        if not simulated:
            return self.sizes[size]
        self._refuse_if(not self.simulated, "does not say, in a table [simulated], how it is run on "
                                            "a simulated machine")
        return self.simulated.sizes[size]

    def number_of(self, simulated):
        return self.simulated.number if simulated and self.simulated else self.number

    def _check_grids(self, grids, sizes):
        for grid in grids:
            self._refuse_unknown(grid, GRID_FIELDS, "has a grid with")
            command = grid.get("command", "run")
            self._refuse_if(command not in COMMANDS,
                            f"has a grid of command {command}; there are {', '.join(COMMANDS)}")
            self._refuse_if(command in PREPARED and "prepare" not in grid,
                            f"has a grid of command {command} without [grid.prepare]")
        for size in sizes.values():
            for axis, narrowed in size.axes.items():
                axes = [values for grid in grids for name, values, _ in _axes_of(grid)
                        if name == axis]
                if EVERY in axes:
                    continue
                known = {name for values in axes for name in _flags_of_axis(axis, values)}
                missing = {text(value) for value in narrowed} - known
                self._refuse_if(missing, f"[{size.name}] narrows {axis} to {sorted(missing)}, "
                                         "which no grid has")

    def _all_axes(self):
        for grid in [*self.grids, *(self.simulated.grids if self.simulated else [])]:
            yield from _axes_of(grid)

    def _renamed(self):
        """Yields (axis, way, scheme) if a way has one scheme's name but runs another scheme."""
        for axis, values, _ in self._all_axes():
            for way, flags in values.items() if isinstance(values, dict) else ():
                log = flags.get("log", way)
                if log != way and way in SCHEMES and log in SCHEMES and log not in values:
                    yield axis, way, log

    def name_of(self, axis, value):
        """Returns an axis' value's name for readers. In P7, the way `centr` is the paper's CENTR
        and runs centr-faa, so readers see another name than logjam's `centr`."""
        return self.names.get((axis, value), value)

    def axis_names(self):
        return list(dict.fromkeys(axis for axis, _, _ in self._all_axes()))

    def pace(self):
        """Returns how many microseconds a transaction works more, to be as slow as the paper's."""
        paper, known = self.source.partition(",")[0].lower(), paces()
        self._refuse_if(paper not in known, f"is of a paper without a pace; {PACES.name} has those "
                                            f"of {', '.join(known)}")
        return known[paper]["work_us"]

    def points(self, size="quick", schemes=None, simulated=False, paced=False):
        """Returns a size's points in the file's order. `schemes()` maps schemes to flags. If
        `paced`, transactions take as long as in the paper's engine."""
        size, points = self.form(size, simulated), []
        for grid in self.simulated.grids if simulated else self.grids:
            command = grid.get("command", "run")
            choices = []
            for axis, values, kind in _axes_of(grid):
                named = _flags_of_axis(axis, values, schemes)
                if axis in size.axes:
                    named = _narrowed(named, size.axes[axis])
                choices.append([(axis, name, kind, flags) for name, flags in named.items()])
            for chosen in itertools.product(*choices):
                points.append(self._point(len(points), grid, command, size, chosen))
        for point in points if paced else []:
            if point.command == "run":
                locks = text(point.flags.get("locks", "early"))
                point.flags["locks"] = f"{locks},work_us:{self.pace()}"
        return points

    def about_seconds(self, size, schemes=None):
        """Estimates the seconds of a size, with half a second for each load."""
        of_size = self.sizes[size]
        run = (of_size.seconds + of_size.warmup if of_size.seconds else 1) + 0.5
        return len(self.points(size, schemes)) * of_size.rounds * run

    @staticmethod
    def _point(index, grid, command, size, chosen):
        flags = {"flags": dict(grid.get("flags", {})), "prepare": dict(grid.get("prepare", {}))}
        timed = "prepare" if command in PREPARED else "flags"
        if size.seconds and "seconds" not in flags[timed]:
            flags[timed]["seconds"] = size.seconds
            flags[timed].setdefault("warmup", size.warmup)
        for _, _, kind, of_value in chosen:
            flags[kind] = _merged(flags[kind], of_value)
        flags["flags"] = _merged(flags["flags"], size.flags)
        flags["prepare"] = _merged(flags["prepare"], size.prepare)
        return Point(index, {axis: name for axis, name, _, _ in chosen}, command, flags["flags"],
                     flags["prepare"] if command in PREPARED else None)


@functools.lru_cache(maxsize=None)
def paces():
    """Returns what config/papers/paces.toml says of each paper, by the paper's name in lower case."""
    with open(PACES, "rb") as file:
        return tomllib.load(file)


def load(path, own=False):
    with open(path, "rb") as file:
        try:
            fields = tomllib.load(file)
        except tomllib.TOMLDecodeError as error:
            raise Refused(f"{path} is not TOML: {error}") from error
    experiment = Experiment(fields, path, own)
    if experiment.id.lower() != pathlib.Path(path).stem:
        raise Refused(f"{path} has the id {experiment.id}: the file's name is the id in small "
                      "letters")
    return experiment


def _order(experiment):
    """Returns a sort key: A2 before A10 (letters, then number), and our own experiments last."""
    head, digits, tail = re.fullmatch(r"(.*?)([0-9]*)([a-z]*)", experiment.id).groups()
    return (True, experiment.id, 0, "") if experiment.own else (False, head, int(digits or 0), tail)


def load_all(config=CONFIG):
    """Returns all experiments by id: the published results first, then our own."""
    found = [load(path, own) for folder, own in (("figures", False), ("experiments", True))
             for path in sorted((config / folder).glob("*.toml"))]
    return {experiment.id: experiment for experiment in sorted(found, key=_order)}


def find(name, experiments=None):
    """Returns the experiment with this id or published result. Ignores upper and lower case."""
    experiments = experiments or load_all()
    for experiment in experiments.values():
        if name.lower() in (own.lower() for own in (experiment.id, *experiment.also)):
            return experiment
    raise Refused(f"there is no experiment {name}; there are {', '.join(experiments)}")
