"""Draws one figure of one or several files of rows: those of a sweep, or of one experiment that was
measured on several machines. Each file is a machine, and each machine has series of its own.
"""

import copy
import pathlib

from experiments import store, style
from experiments.analysis import Measured
from experiments.curves import as_list
from experiments.errors import Refused
from experiments.store import axes_of, machine_of, number_of
from experiments.text_tables import say

RATES = {"tps": "transactions/s", "inserts_s": "inserts/s", "calls_s": "calls/s"}
MACHINE = "machine"  # the axis of the files


def read(paths):
    """Returns (path, Store) pairs. Raises Refused for a file without rows, or a file given twice."""
    found = []
    for path in map(pathlib.Path, paths):
        rows = store.Store(path)
        if not rows.rows:
            raise Refused(f"there are no rows {path}")
        if any(path.resolve() == other.resolve() for other, _ in found):
            raise Refused(f"{path} is given twice")
        found.append((path, rows))
    axes = [{axis for row in rows.rows for axis in axes_of(row)} for _, rows in found]
    for (path, _), of in zip(found, axes):
        if of != axes[0]:
            raise Refused(f"{path} has the axes {', '.join(sorted(of))}, and {found[0][0]} "
                          f"{', '.join(sorted(axes[0]))}: they are of different measurements")
    if MACHINE in axes[0] and len(found) > 1:
        raise Refused(f"{found[0][0]} has an axis `machine` already")
    return found


def names_of(files_of_rows):
    """Returns a name for each file: its machine, and the file's name if two have one machine."""
    machines = [style.short_machine(machine_of(rows.rows[0])) for _, rows in files_of_rows]
    names = [f"{machine} ({path})" if machines.count(machine) > 1 else machine
             for machine, (path, _) in zip(machines, files_of_rows)]
    return names


def path_of(paths):
    """Returns the path whose ending is replaced by that of the figure: beside the first file."""
    first, *others = map(pathlib.Path, paths)
    return first.with_name("-and-".join([first.stem, *(other.stem for other in others)]) + ".csv")


def cautions(files_of_rows):
    """Returns a sentence if a difference may come from another cause than the machine."""
    made_by = dict.fromkeys(rows.rows[0]["revision"] for _, rows in files_of_rows)
    given = [{tuple(sorted(axes_of(row).items())): row.get("given") for row in rows.rows}
             for _, rows in files_of_rows]
    other = next((f"{dict(point)}" for of in given[1:] for point in of
                  if point in given[0] and of[point] != given[0][point]), "")
    return [*[f"The files are of the revisions {', '.join(made_by)}: a difference may be the code's."]
            * (len(made_by) > 1),
            *[f"The point {other} had other flags in another file: a difference may be theirs."]
            * bool(other)]


def _plot_of(axes, rows):
    """Returns the plot of a sweep: its rate over its longest axis of numbers, or as bars."""
    rate = next((column for column in RATES if any(row.get(column) for row in rows)), None)
    if not rate:
        raise Refused(f"the rows have none of the columns {', '.join(RATES)}")
    numbers = [axis for axis, values in axes.items() if len(values) > 1
               and all(number_of(value) is not None for value in values)]
    x = max(numbers, key=lambda axis: len(axes[axis]), default=None)
    kind = "lines" if x else "bars"
    x = x or max(axes, key=lambda axis: len(axes[axis]))
    values = sorted(number_of(value) or 0 for value in axes[x])
    wide = kind == "lines" and values[0] > 0 and values[-1] >= 8 * values[0]
    return {"kind": kind, "x": x, "y": rate, "y_label": RATES[rate], "x_label": x.replace("_", " "),
            "x_scale": "log2" if wide else "linear",
            "series": [axis for axis, of in axes.items() if axis != x and len(of) > 1]}


def beside(files_of_rows, experiment=None):
    """Returns the Experiment, its Measured, the path of the figure and the extra rows, with an axis
    for the files if there are several. `experiment`: whose rows they are; else they are a sweep's.
    Prints why the files may differ in more than the machine."""
    from experiments import sweep
    several = len(files_of_rows) > 1
    rows, extras, names = [], {}, names_of(files_of_rows)
    for name, (_, one) in zip(names, files_of_rows):
        added = {f"axis_{MACHINE}": name} if several else {}
        rows += [{**row, **added} for row in one.rows]
        for kind, lines in one.extras.items():
            extras.setdefault(kind, []).extend({**line, **added} for line in lines)
    made = copy.copy(experiment) if experiment else sweep.of_rows(rows)
    if experiment and several:
        made.grids = [{**grid, "axes": {**grid.get("axes", {}), MACHINE: names}}
                      for grid in experiment.grids]
        made.plot = {**made.plot, "series": [*as_list(made.plot.get("series")), MACHINE]}
    if several:
        # The checks and the published points are of one machine's rows.
        made.checks, made.number, made.published_points = [], {}, []
        made.title += f" on {len(names)} machines"
    if not experiment:
        axes = {}
        for row in rows:
            for axis, value in axes_of(row).items():
                axes.setdefault(axis, {})[value] = None
        made.plot = _plot_of(axes, rows)
        made.table_columns = [made.plot["y"]]
    measured = Measured(made, rows)
    if several:
        measured.origin["machine"] = "; ".join(names)
        measured.origin["revision"] = ", ".join(dict.fromkeys(
            one.rows[0]["revision"] for _, one in files_of_rows))
    for line in cautions(files_of_rows):
        say(line)
    return made, measured, path_of([path for path, _ in files_of_rows]), extras
