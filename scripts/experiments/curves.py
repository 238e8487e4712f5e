"""Computes the numbers of a figure, for the PNG and for the page.

A mark is one point of the experiment: the median of its rounds, and its interval. A trace is a line
from the files that logjam writes beside the rows: a distribution or a time series.
"""

import dataclasses
import math
import re
import statistics

from experiments import doubts, style
from experiments.analysis import NotMeasured
from experiments.definition import text
from experiments.errors import Refused
from experiments.store import axes_of, number_of

# The drawn fractions of a distribution, as logjam writes them (cli/output.cc).
FRACTIONS = [*(i / 100 for i in range(2, 95, 2)), 0.95, 0.96, 0.98, 0.99, 0.995, 0.999]
TRACED = ("cdf", "timeline")
BY_NAME = ("bars", "stacked")  # kinds of plots whose x are names
TIGHT = 5  # tight: the older transaction is among its log's last five (Aether, 7.2)
EDGE = ("from_order", "from_stream", "to_order", "to_stream", "since")
EDGE_KINDS = {True: ("vermillion", f"on one of the last {TIGHT} transactions of another log"),
              False: ("blue", "on an older one")}
EXTRA_AXES = {"cdf": ("latency_us", "fraction"), "timeline": ("seconds", "tps")}


@dataclasses.dataclass
class Mark:
    """`x` is a number or the name of a category; `column` is the column on the y axis. `low` and
    `high` are the interval's ends, or both are `middle`. A doubtful mark is hollow and grey."""

    panel: str
    series: str
    x: object
    column: str
    middle: float
    low: float
    high: float
    rounds: int
    facts: dict
    doubtful: bool = False

    @property
    def bar(self):
        """Returns the drawn interval. It is cut at half and at twice the median, so that an outlier
        does not stretch the axis."""
        if self.middle <= 0:
            return self.low, self.high
        return max(self.low, self.middle / 2), min(self.high, self.middle * 2)


@dataclasses.dataclass
class Trace:
    """Points (x, y, low, high). In a distribution, `low` and `high` are the ends of the range of
    x. Otherwise they are None."""

    panel: str
    series: str
    column: str
    points: list
    facts: dict


def as_list(value):
    return [] if value is None else list(value) if isinstance(value, list) else [value]


def facts_of(measured, axes):
    """Returns the values of `unsafe` and of the columns by which the page filters."""
    found = {}
    for name in ("log", "workload", "commit", "unsafe"):
        try:
            found[name] = str(next(iter(measured.column(name, axes).values())))
        except NotMeasured:
            found[name] = ""
    return found


class Names:
    """Names the panels, series and x of points. A series also names axes that the plot omits."""

    def __init__(self, experiment, points):
        self.experiment, plot = experiment, experiment.plot
        kind = plot.get("kind", "lines")
        self.x = plot.get("x", "")
        self.panels = as_list(plot.get("panels"))
        self.series = as_list(plot.get("series"))
        used = {self.x, *self.panels, *self.series}
        self.by_axis = self.x in experiment.axis_names()
        for axis in experiment.axis_names():
            differs = len({point.get(axis) for point in points}) > 1
            # If x is a column, points of one line may differ in an axis without a name here.
            if axis not in used and differs and (self.by_axis or kind in TRACED):
                self.series.append(axis)

    def of(self, point):
        return tuple(", ".join(label(axis, self.experiment.name_of(axis, point[axis]))
                               for axis in axes if axis in point)
                     for axes in (self.panels, self.series))


def label(axis, value):
    """Returns the label of an axis' value. The axis' name is added to a number or `true`."""
    says_nothing = number_of(value) is not None or value in ("true", "false")
    return f"{axis} {value}" if says_nothing else value


def numeric_x(experiment, points):
    x = experiment.plot.get("x", "")
    if experiment.plot.get("kind", "lines") in BY_NAME:
        return False
    if x not in experiment.axis_names():
        return True
    return all(number_of(point[x]) is not None for point in points if x in point)


THOUSANDS = re.compile(r"\b1000 (?=\w)")  # in a label of y; the ticks contain the k or M instead


def y_labels(plot):
    """Returns the label (or labels) of y without "1000", which the ticks already contain."""
    given = plot.get("y_label")
    if given is None and plot.get("kind") == "cdf":
        return "share of the transactions"
    if isinstance(given, list):
        return [THOUSANDS.sub("", one) for one in given]
    return THOUSANDS.sub("", given) if given else given


def _unit_of(plot, column):
    """Returns the factor that converts a column's values to the unit in the column's label."""
    given, columns = as_list(plot.get("y_label")), as_list(plot.get("y"))
    place = columns.index(column) if column in columns else 0
    said = given[place if len(given) > 1 else 0] if given else ""
    return 1000 if THOUSANDS.search(said) else 1


def columns_of(plot):
    """Returns the columns of the y axes, or of a stack's parts. A range's two ends count once."""
    columns, ends = as_list(plot.get("y")), as_list(plot.get("low_high"))
    ranges = [column for column in columns if column in ends]
    return [column for column in columns if column not in ranges[1:]]


def marks(experiment, measured):
    """Returns the marks of the kinds lines, points, bars and stacked, in the order of the file."""
    wanted = [*columns_of(experiment.plot), *as_list(experiment.plot.get("low_high"))]
    points = [point for point in measured.points()
              if not all(_is_reference(measured, column, point) for column in wanted)]
    names, numeric = Names(experiment, points), numeric_x(experiment, points)
    found = []
    for point in points:
        panel, series = names.of(point)
        facts = facts_of(measured, point)
        for column in dict.fromkeys(wanted):
            try:
                unit = _unit_of(experiment.plot, column)
                values = [unit * value for value in measured.column(column, point).values()
                          if isinstance(value, float) and math.isfinite(value)]
                x = _x_of(measured, names, point, numeric)
            except NotMeasured:
                continue
            if experiment.plot.get("kind") == "points" and x <= 0:
                continue  # nothing was acknowledged: the latency is 0, and has no logarithm
            if values:
                middle = statistics.median(values)
                low, high = doubts.interval(values) or (middle, middle)
                found.append(Mark(panel, series, x, column, middle, low, high, len(values), facts,
                                  doubts.doubtful(measured.rows_of(point))))
    return found


def _is_reference(measured, column, point):
    """Returns whether the column is a ratio of this point to itself, which is always 1."""
    return (column in measured.experiment.ratios and
            measured.reference(column, point) == point)


def _x_of(measured, names, point, numeric):
    if not names.by_axis:
        if not names.x:
            return ""
        return statistics.median(measured.column(names.x, point).values())
    if names.x not in point:
        return None  # the grid lacks this axis: the point becomes a horizontal line
    return (number_of(point[names.x]) if numeric else
            names.experiment.name_of(names.x, point[names.x]))


def traces(experiment, measured, rows):
    kind = experiment.plot["kind"]
    default_x, default_y = EXTRA_AXES[kind]
    x = experiment.plot.get("x", default_x)
    names, found = Names(experiment, measured.points()), {}
    for row in rows:
        key = tuple(sorted(axes_of(row).items()))
        found.setdefault(key, {}).setdefault(int(row["round"]), []).append(row)
    traced = []
    for key, rounds in found.items():
        panel, series = names.of(dict(key))
        facts = facts_of(measured, dict(key))
        for column in columns_of(experiment.plot) or [default_y]:
            points = _distribution(rounds, x) if kind == "cdf" else [
                (a, b, None, None) for a, b in _pairs(rounds[min(rounds)], x, column)]
            if points:
                traced.append(Trace(panel, series, column, points, facts))
    return traced


def _pairs(rows, *columns):
    pairs = [tuple(number_of(row.get(column)) for column in columns) for row in rows]
    return [pair for pair in pairs if None not in pair]


def _distribution(rounds, column):
    """Returns the median, smallest and largest latency of the rounds at each fraction."""
    found = filter(None, (sorted(_pairs(rows, "fraction", column)) for rows in rounds.values()))
    of_rounds, points = list(found), []
    for fraction in FRACTIONS if of_rounds else []:
        at = [next((value for f, value in of_round if f >= fraction - 1e-9), of_round[-1][1])
              for of_round in of_rounds]
        points.append((statistics.median(at), fraction, min(at), max(at)))
    return points


def drawn_of(experiment, measured, extras):
    kind = experiment.plot.get("kind", "lines")
    if kind in TRACED:
        return traces(experiment, measured, extras.get(kind, []))
    return [] if kind == "dependencies" else marks(experiment, measured)


def series_of(drawn):
    """Returns the argument for style.styles(), in the order of the series."""
    found = {}
    for mark in drawn:
        logs, commits, unsafe = found.setdefault(mark.series, (set(), set(), []))
        logs.add(mark.facts["log"])
        commits.add(mark.facts["commit"])
        unsafe.append(bool(mark.facts["unsafe"]))
    return {name: (logs, commits, all(unsafe))
            for name, (logs, commits, unsafe) in found.items()}


FLAT = 4  # times that one side may be above the other on a linear axis


def y_scale(experiment, drawn):
    """Returns the plot's scale of y, or None. It is "log" where a linear axis with our values and
    the published ones would make one of the two sides flat."""
    given = experiment.plot.get("y_scale")
    if given or experiment.plot.get("kind", "lines") not in ("lines", "bars"):
        return given
    highest = {}
    for mark in drawn:
        highest.setdefault(mark.panel, ([], []))[0].append(mark.middle)
    for points in published_points(experiment):
        highest.setdefault(points["panel"], ([], []))[1].extend(points["y"])
    lowest = [min(side) for sides in highest.values() for side in sides if side]
    both = [(max(ours), max(published)) for ours, published in highest.values() if ours and published]
    flat = any(max(pair) > FLAT * min(pair) for pair in both)
    return "log" if flat and min(lowest) > 0 else None


def published_points(experiment):
    """Returns the published points. Each part of a stack is a series."""
    plot, found = experiment.plot, []
    axes = {"series": as_list(plot.get("series")), "panel": as_list(plot.get("panels"))}
    columns = columns_of(plot) or [""]
    parts = dict(zip(style.component_names(columns), columns))
    kind = plot.get("kind", "lines")
    for given in experiment.published_points:
        named = {field: text(given.get(field, "")) for field in axes}
        for field, of in axes.items():
            if len(of) == 1 and named[field]:
                named[field] = label(of[0], experiment.name_of(of[0], named[field]))
        column = columns[0]
        if kind == "stacked":
            column, named["series"] = parts.get(named["series"], named["series"]), ""
        x = [experiment.name_of(plot.get("x"), text(x)) if kind in BY_NAME or isinstance(x, str) else float(x) for x in given["x"]]
        unit = _unit_of(plot, column)
        found.append({**named, "column": column, "x": x, "y": [unit * float(y) for y in given["y"]],
                      "from": given.get("from", "")})
    return found


def styles_of(experiment, drawn):
    """Returns the Styles of our series and of the published series. A single series of ours and a
    single published series have the same Style."""
    found = style.styles(series_of(drawn))
    if experiment.plot.get("kind") == "stacked":
        return found
    names = dict.fromkeys(given["series"] for given in published_points(experiment))
    if len(names) == 1 and list(found) == [""]:
        found.update(dict.fromkeys(names, found[""]))
    for name in names:
        found.setdefault(name, style.at_place(name, len(found)))
    return found


def edges(experiment, measured, rows):
    """Maps panels to their edges in the first round. An edge is a pair of transactions in different
    logs: the younger one overwrites a row of the older one (Aether, Fig. 15). It has the form
    [older transaction's position, its log, younger transaction's position, its log, whether tight].
    Edges within a log are omitted, because a log keeps its order. `rows` come from `logjam dump
    --dependencies`."""
    points = measured.points()
    axes = as_list(experiment.plot.get("panels")) or [
        axis for axis in experiment.axis_names()
        if len({point.get(axis) for point in points}) > 1]
    first = min((int(row["round"]) for row in rows), default=0)
    found = {}
    for row in rows:
        if int(row["round"]) != first:
            continue
        point = axes_of(row)
        name = ", ".join(label(axis, point[axis]) for axis in axes if axis in point)
        of_panel = found.setdefault(name, [])
        edge = [number_of(row.get(column)) for column in EDGE]
        if None in edge:
            raise Refused(f"{experiment.id}: a row of dependencies has no number in one of the "
                          f"columns {', '.join(EDGE)}")
        if edge[1] != edge[3]:
            of_panel.append([*map(int, edge[:4]), edge[4] < TIGHT])
    return found
