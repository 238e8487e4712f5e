"""Computes medians, intervals, ratios and verdicts from the rows of an experiment.

A ratio of two points is the median of the rounds' ratios. The rounds are interleaved, so a slow
phase of the machine affects both points of a ratio. docs/EXPERIMENTS.md lists the functions that
the expressions of an experiment's file may use.
"""

import math
import re
import statistics

from experiments import doubts, groups, verdicts
from experiments.definition import text
from experiments.errors import Refused
from experiments.store import axes_of, machine_of, number_of, simulated
from experiments.verdicts import MISSING, OPEN

PLAIN = {"all": all, "any": any, "min": min, "max": max, "abs": abs, "sum": sum, "len": len,
         "sorted": sorted, "zip": zip, "range": range, "round": round, "float": float,
         "list": list, "set": set, "enumerate": enumerate, "log2": math.log2, "True": True,
         "False": False, "None": None}

MARGIN = " \u00b1%"  # ends the name of a table's column of intervals


def rising(values, slack=0.05):
    """Returns whether each value is at least (1 - slack) times the value before it."""
    return all(b >= a * (1 - slack) for a, b in zip(values, values[1:]))


def falling(values, slack=0.05):
    return all(b <= a * (1 + slack) for a, b in zip(values, values[1:]))


class NotMeasured(Exception):
    """An expression asks for a point without rows, or for a column that is empty."""


def _value_of(cell):
    number = number_of(cell)
    return (cell or None) if number is None else number


def _counters(row):
    pairs = (pair.partition("=") for pair in (row.get("scheme_counters") or "").split())
    return {name: value for name, _, value in pairs}


def cores_of(row):
    found = re.search(r"(?:^|, )([0-9]{1,6}) cores(?:,|$)", row.get("machine", ""))
    return int(found[1]) if found else 1


def _with_columns(experiment, row, columns):
    """Returns the numbers in `columns` and in the experiment's own columns; None if missing."""
    values = {name: _value_of(row.get(name) or "") for name in columns}
    counters = _counters(row)
    for name, expression in experiment.columns.items():
        names = {**PLAIN, **values, "cores": cores_of(row),
                 "counter": lambda counter: float(counters[counter])}
        try:
            values[name] = eval(expression, {"__builtins__": {}}, names)  # the repository's own text
        except (TypeError, KeyError, ValueError, ZeroDivisionError):
            values[name] = None  # the row lacks a column of the expression
        except Exception as error:
            raise Refused(f"{experiment.where}: column {name}: {error}") from error
    return values


class Measured:
    """The rows (dicts of texts) of an experiment, and their points."""

    def __init__(self, experiment, rows):
        self.experiment, self.rows = experiment, rows
        self.origin = {**rows[0], "machine": machine_of(rows[0])} if rows else {}
        self.simulated = bool(rows) and simulated(rows[0])
        self.wanted = experiment.number_of(self.simulated)  # the file's table [number]
        self._judging = False
        self._rounds = []
        self._points = {}  # axes -> round -> values
        self._rows = {}  # axes -> rows
        columns = dict.fromkeys(name for row in rows for name in row)
        for row in rows:
            axes = tuple(sorted(axes_of(row).items()))
            self._points.setdefault(axes, {})[int(row["round"])] = _with_columns(
                experiment, row, columns)
            self._rows.setdefault(axes, []).append(row)
        self.rounds = max((len(rounds) for rounds in self._points.values()), default=0)
        self.thrown_away = sum(int(number_of(row.get("thrown_away")) or 0) for row in rows)

    def points(self, **axes):
        """Returns the points (dicts of axes) with these values, in the order of their runs."""
        wanted = {name: text(value) for name, value in axes.items()}
        unknown = set(wanted) - set(self.experiment.axis_names())
        if unknown:
            raise Refused(f"{self.experiment.where}: there is no axis {', '.join(sorted(unknown))}")
        return [dict(point) for point in self._points
                if all(dict(point).get(name) == value for name, value in wanted.items())]

    def rows_of(self, axes):
        return self._rows.get(tuple(sorted(axes.items())), [])

    def reference(self, ratio, axes):
        """Returns the point by which one of the table's ratios divides the point `axes`."""
        to = self.experiment.ratios[ratio]["to"]
        return {**axes, **{axis: text(value) for axis, value in to.items()}}

    def column(self, name, axes):
        """Maps the rounds of a point to the values of a column or of a ratio."""
        if name in self.experiment.ratios:
            of = self.experiment.ratios[name]["of"]
            return self._ratio_of_rounds(of, axes, self.reference(name, axes))
        rounds = self._points.get(tuple(sorted(axes.items())), {})
        found = {number: values[name] for number, values in rounds.items()
                 if values.get(name) is not None and not (self._judging and values.get("unsteady"))}
        if not found:
            raise NotMeasured(f"{name} of {axes}")
        return found

    def median(self, column, axes):
        """Returns the median of a column over the rounds of the point with exactly these axes."""
        values = list(self.column(column, axes).values())
        if any(isinstance(value, str) for value in values):
            return values[0]
        return statistics.median(values)

    def _one(self, axes):
        found = self.points(**axes)
        if len(found) > 1:
            raise Refused(f"{self.experiment.where}: {axes} are {len(found)} points, not one")
        if not found:
            raise NotMeasured(str(axes))
        return found[0]

    def value(self, column, **axes):
        return self.median(column, self._one(axes))

    def values(self, column, **axes):
        found = self.points(**axes)
        if not found:
            raise NotMeasured(str(axes))
        return [self.median(column, point) for point in found]

    def spread(self, column, **axes):
        values = self.column(column, self._one(axes)).values()
        middle = self.value(column, **axes)
        return (max(values) - min(values)) / middle if middle else 0.0

    def _ratio_of_rounds(self, column, one, other):
        ours, theirs = self.column(column, one), self.column(column, other)
        both = {number: ours[number] / theirs[number] if theirs[number] else math.inf
                for number in ours if number in theirs}
        if not both:
            raise NotMeasured(f"{column} of {one} and {other} in the same round")
        return both

    def _ratio(self, column, one, other):
        return statistics.median(self._ratio_of_rounds(column, one, other).values())

    def ratio(self, column, a, b, **axes):
        return self._ratio(column, self._one({**axes, **a}), self._one({**axes, **b}))

    def ratios(self, column, a, b, **axes):
        found = []
        for point in self.points(**{**axes, **a}):
            other = {**point, **{name: text(value) for name, value in b.items()}}
            if tuple(sorted(other.items())) in self._points:
                found.append(self._ratio(column, point, other))
        if not found:
            raise NotMeasured(f"{a} and {b}")
        return found

    def evaluate(self, expression, **known):
        """Returns the value of an expression with the names `known`. Omits unsteady rows."""
        names = {**PLAIN, "rising": rising, "falling": falling, **known,
                 **{name: getattr(self, name)
                    for name in ("value", "values", "ratio", "ratios", "spread")}}
        self._judging = True
        try:
            # All names are globals, because a comprehension in an expression does not see locals.
            return eval(expression, {"__builtins__": {}, **names})  # the repository's own text
        finally:
            self._judging = False

    def _evaluated(self, expression, what, **known):
        try:
            return self.evaluate(expression, **known)
        except (NotMeasured, Refused):
            raise
        except Exception as error:
            raise Refused(f"{self.experiment.where}: {what}: {expression}: {error}") from error

    def verdict_of(self, check):
        try:
            return verdicts.of_numbers(
                lambda expression, **known: self._evaluated(expression, check["says"], **known),
                check)
        except NotMeasured:
            return MISSING

    def _each_round(self):
        """Returns a Measured for each round, in order; [] if there is only one round."""
        if not self._rounds:
            numbers = sorted({row["round"] for row in self.rows}, key=int)
            self._rounds = [Measured(self.experiment, [row for row in self.rows
                                                       if row["round"] == number])
                            for number in numbers] if len(numbers) > 1 else []
        return self._rounds

    def checks(self):
        """Returns (check, verdict) pairs. A check is OPEN if the machine has too few cores."""
        cores, found = cores_of(self.origin), []
        for check in self.experiment.checks:
            verdict = self.verdict_of(check)
            if verdict != MISSING:
                of_rounds = [one.verdict_of(check) for one in self._each_round()]
                verdict = verdicts.of_rounds(verdict, [of for of in of_rounds if of != MISSING])
            if max(self.experiment.needs_cores, check.get("needs_cores", 1)) > cores:
                verdict = OPEN
            found.append((check, verdict))
        return found

    def number(self):
        if not self.wanted:
            return None
        try:
            return self._evaluated(self.wanted["ours"], "number")
        except NotMeasured:
            return None

    def _allows(self, where, point):
        try:
            medians = {name: self.median(name, point)
                       for name in compile(where, self.experiment.where, "eval").co_names}
            return self._evaluated(where, "table.best", **medians)
        except NotMeasured:
            return False

    def _table_points(self):
        """Returns all points, or with table.best only the best point of each group along `over`."""
        if not self.experiment.best:
            return self.points()
        of, over, where = (self.experiment.best[name] for name in ("of", "over", "where"))
        groups = {}
        for point in self.points():
            groups.setdefault(tuple(item for item in point.items() if item[0] != over),
                              []).append(point)
        return [max((point for point in points if self._allows(where, point)),
                    key=lambda point: self.median(of, point), default={**dict(axes), over: "none"})
                for axes, points in groups.items()]

    def _compared_axis(self):
        """Returns the axis whose values are ranked: the log, the series, the only axis, or ""."""
        axes, series = self.experiment.axis_names(), self.experiment.plot.get("series")
        return next((axis for axis in ("log", series, axes[0] if len(axes) == 1 else "")
                     if axis in axes), "")

    def groups(self):
        """Returns the points by the table's first column, as Groups or, if they are simulated, as
        SimulatedGroups. Keys are sorted axes."""
        axis, blocks = self._compared_axis(), {}
        column = next(iter(self.experiment.table_columns), "")
        kind = groups.SimulatedGroups if self.simulated else groups.Groups
        if not axis or not column or doubts.no_comparison(self.rows):
            return kind(axis, column, [])
        for point in self._table_points():
            if self.simulated and any(row.get("log") == "none" for row in self.rows_of(point)):
                continue
            try:
                values = list(self.column(column, point).values())
            except NotMeasured:
                continue
            if axis in point and all(isinstance(value, float) for value in values):
                block = tuple(item for item in sorted(point.items()) if item[0] != axis)
                blocks.setdefault(block, []).append((tuple(sorted(point.items())), values))
        return kind(axis, column, list(blocks.values()))

    def _cells(self, column, point):
        """Returns a column's median and half of its interval in percent. Each may be None."""
        try:
            values = list(self.column(column, point).values())
        except NotMeasured:
            return None, None
        if any(isinstance(value, str) for value in values):
            return values[0], None
        return statistics.median(values), doubts.half_in_pct(values)

    def _where_it_matters(self):
        return [column for column, least in self.experiment.if_above.items() if any(
            (values.get(column) or 0) > least for rounds in self._points.values()
            for values in rounds.values())]

    def table(self):
        """Returns a DataFrame: axes, and medians, each with half of its interval in percent."""
        import pandas  # takes half a second to load
        found = self.groups()
        lines, letters, axes = [], found.letters(), self.experiment.axis_names()
        unsafe = any(map(doubts.unsafe, self.rows))
        columns = [*self.experiment.table_columns, *self.experiment.ratios, *self._where_it_matters()]
        for point in self._table_points():
            line = {}
            for axis in axes:
                line[axis] = self.experiment.name_of(axis, point.get(axis, ""))
                if axis == ("commit" if "commit" in axes else axes[-1]) and unsafe:
                    line["unsafe"] = "UNSAFE" if any(map(doubts.unsafe, self.rows_of(point))) else ""
            for column in columns:
                line[column], line[column + MARGIN] = self._cells(column, point)
                if letters and column == self.experiment.table_columns[0]:
                    line[found.heading] = letters.get(tuple(sorted(point.items())), "")
            lines.append(line)
        empty = {name for name in (lines[0] if lines else ()) if name.endswith(MARGIN)
                 and all(line[name] is None for line in lines)}  # texts, or one round a point
        return pandas.DataFrame([{name: cell for name, cell in line.items() if name not in empty}
                                 for line in lines])
