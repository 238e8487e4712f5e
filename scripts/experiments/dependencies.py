"""Draws which records of one log depend on records of the others (Aether, Fig. 15)."""

from matplotlib.collections import LineCollection

from experiments.style import COLOURS


def edges(rows):
    """Pairs of records of the first round: [time, stream, time, stream]."""
    first = min((int(row["round"]) for row in rows), default=0)
    return [[float(row["from_at"]), int(row["from_stream"]), float(row["at"]), int(row["stream"])]
            for row in rows if int(row["round"]) == first]


def draw(axes, rows):
    """A line of time for each log, and a line from each record to what it depends on."""
    lines = [((from_at, from_stream), (at, stream))
             for from_at, from_stream, at, stream in edges(rows)]
    axes.add_collection(LineCollection(lines, colors=COLOURS["blue"], linewidths=0.5, alpha=0.5))
    streams = sorted({stream for (_, a), (_, b) in lines for stream in (a, b)})
    axes.set_yticks(streams, [f"log {stream}" for stream in streams])
    axes.autoscale()
    axes.invert_yaxis()
