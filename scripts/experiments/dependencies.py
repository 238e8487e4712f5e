"""Which transactions of one log overwrite rows of transactions in the others (Aether, Fig. 15).

The rows are those of `logjam dump --dependencies`: an edge each. Edges within one log need no
picture: a log is written in its own order.
"""

from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from experiments import curves
from experiments.errors import Refused
from experiments.store import axes_of, number_of
from experiments.style import COLOURS

TIGHT = 5  # Aether, 7.2: the older one is among the last five of its log
EDGE = ("from_order", "from_stream", "to_order", "to_stream", "since")
KINDS = {True: ("vermillion", f"on one of the last {TIGHT} transactions of another log"),
         False: ("blue", "on an older one")}


def panels(experiment, measured, rows):
    """Returns a map of panels' names to their edges [place of the older transaction, its log, place
    of the younger one, its log, whether tight]: those of the first round."""
    points = measured.points()
    axes = curves.as_list(experiment.plot.get("panels")) or [
        axis for axis in experiment.axis_names()
        if len({point.get(axis) for point in points}) > 1]
    first = min((int(row["round"]) for row in rows), default=0)
    found = {}
    for row in rows:
        if int(row["round"]) != first:
            continue
        point = axes_of(row)
        name = ", ".join(curves.label(axis, point[axis]) for axis in axes if axis in point)
        edges = found.setdefault(name, [])
        edge = [number_of(row.get(column)) for column in EDGE]
        if None in edge:
            raise Refused(f"{experiment.id}: a row of dependencies has no number in one of the "
                          f"columns {', '.join(EDGE)}")
        if edge[1] != edge[3]:
            edges.append([*map(int, edge[:4]), edge[4] < TIGHT])
    return found


def handles():
    return [Line2D([], [], color=COLOURS[colour], label=name) for colour, name in KINDS.values()]


def draw(axes, edges):
    """Draws a line for each log, with its transactions from left to right in the order of their
    numbers, and one from each transaction to those of other logs whose rows it overwrites."""
    streams = sorted({stream for edge in edges for stream in (edge[1], edge[3])})
    for stream in streams:
        axes.axhline(stream, color="#bbbbbb", lw=0.8, zorder=1)
    for tight in (False, True):
        axes.add_collection(LineCollection(
            [(edge[0:2], edge[2:4]) for edge in edges if edge[4] == tight],
            colors=COLOURS[KINDS[tight][0]], linewidths=0.7, alpha=0.65, zorder=2 + tight))
    ends = {tuple(end) for edge in edges for end in (edge[0:2], edge[2:4])}
    axes.plot([x for x, _ in ends], [y for _, y in ends], ".", color="#333333", ms=2.5, zorder=4)
    axes.set_yticks(streams, [f"log {stream}" for stream in streams])
    axes.margins(x=0.01)
    axes.invert_yaxis()
