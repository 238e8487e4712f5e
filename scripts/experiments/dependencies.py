"""Draws which records of one log depend on records of the others (Aether, Fig. 15)."""

from experiments.style import COLOURS


def draw(axes, rows):
    """A line of time for each log, and a line from each record to what it depends on."""
    from matplotlib.collections import LineCollection
    edges = [((float(r["from_at"]), float(r["from_stream"])), (float(r["at"]), float(r["stream"])))
             for r in rows]
    axes.add_collection(LineCollection(edges, colors=COLOURS["blue"], linewidths=0.4, alpha=0.5))
    axes.autoscale()
