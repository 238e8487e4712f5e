"""Draws verdicts.png: the dots of the first screen (dots.py) with matplotlib."""

import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from experiments import plots
from experiments.dots import BAND, DERIVED, JUDGES, RINGED, digest, placed
from experiments.findings import NATIVE
from experiments.style import COLOURS, short

SHADE = "#d5e3ee"
LEAST_AXIS = (0.09, 11)
LEFT, ROW = 3.8, 0.152  # inches
RING = {"marker": "o", "ms": 11, "ls": "none", "mew": 0.9, "mec": "#b00020", "mfc": "none"}


def _marker(judge, derived=False):
    colour, marker, _ = JUDGES[judge]
    return {"marker": marker, "ms": 7 if marker == "^" else 5.8, "ls": "none",
            "mew": 1.1 if derived else 0.5,
            "mec": COLOURS[colour] if derived else "white",
            "mfc": "white" if derived else COLOURS[colour]}


def _names(axes, rows):
    """Writes the papers, the results' ids and their titles at the left of the axes."""
    width = axes.get_position().width * plots.WIDTH
    for place, row in enumerate(rows):
        first = place == 0 or rows[place - 1]["paper"] != row["paper"]
        if first and place:
            axes.axhline(place - 0.5, xmin=-(LEFT - 0.1) / width, color="#999999", lw=0.8,
                         clip_on=False)
        for inches, said, bold in ((LEFT - 0.1, row["paper"] if first else "", True),
                                   (2.98, row["id"], False), (2.4, row["title"], False)):
            axes.annotate(said, (0, place), (-72 * inches, 0), xycoords=("axes fraction", "data"),
                          textcoords="offset points", va="center", fontsize=7.3,
                          fontweight="bold" if bold else "normal",
                          color="#111111" if bold else "#444444")


def _finish(axes, rows):
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, LEAST_AXIS[0]), max(high, LEAST_AXIS[1]))
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks([])
    axes.hlines(range(len(rows)), *axes.get_xlim(), color="#e3e3e3", lw=0.6, zorder=0.5)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=15))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(
        lambda value, _: short(value) if value >= 1 else f"1/{short(1 / value)}"))
    axes.tick_params(labelsize=7.5, length=2, pad=2)
    axes.set_xlabel("our number / the published number (log scale)", fontsize=8, labelpad=2)
    axes.spines["left"].set_visible(False)


def plot(rows, dots):
    """Returns the figure and its Axes."""
    height = 0.7 + ROW * max(1, len(rows))
    figure, axes = plt.subplots(figsize=(plots.WIDTH, height), dpi=plots.DOTS)
    figure.subplots_adjust(left=LEFT / plots.WIDTH, right=0.985, top=1 - 0.3 / height,
                           bottom=0.38 / height)
    axes.set_xscale("log")
    axes.axvspan(*BAND, color=SHADE, lw=0, zorder=0)
    axes.axvline(1, color="#6b7b88", lw=0.9, zorder=1)
    for dot in dots:
        place = dot["ratio"], dot["row"] - dot["lane"]
        axes.plot(*place, zorder=3, **_marker(dot["judge"], dot["derived"]))
        if dot["ringed"]:
            axes.plot(*place, zorder=2.9, **RING)
    _finish(axes, rows)
    _names(axes, rows)
    handles = [Line2D([], [], label=said, **_marker(judge)) for judge, (_, _, said) in JUDGES.items()]
    if any(dot["derived"] for dot in dots):
        handles.append(Line2D([], [], label=DERIVED, **_marker(NATIVE, True)))
    if any(dot["ringed"] for dot in dots):
        handles.append(Line2D([], [], label=RINGED, **RING))
    handles.append(Patch(color=SHADE, label="agrees: a half to two"))
    figure.legend(handles=handles, loc="upper left", ncol=6, frameon=False, fontsize=7,
                  bbox_to_anchor=(0.003, 1), borderpad=0.1, handletextpad=0.3, columnspacing=1.4)
    return figure, axes


def draw(entries, path):
    with plt.rc_context(plots.SETTINGS):
        figure, _ = plot(*placed(entries))
        plots.write(path, plots.pixels(figure), 64, dots=digest(entries))
