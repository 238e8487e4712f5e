"""Draws one panel of a figure, by the kind of its plot, with matplotlib.

Each function gets an Axes, the data to draw in it, and the styles of the series. plots.py draws
everything around the panels.
"""

import math

from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from experiments.curves import EDGE_KINDS
from experiments.groups import DECIDED
from experiments.style import COLOURS, DASHES, HATCHES, duration, of_bar, short, words_of

GRID = "#e6e6e6"
TIED = "#fdeab3"
INK = "#333333"
DOUBTFUL = "#bdbdbd"
LETTER = 0.058  # width of a letter in a bar's label, in inches
PUBLISHED = {"ls": "none", "marker": "o", "ms": 9.5, "mew": 1.3, "mfc": "white", "mec": "#111111"}


def line_style(style, size=5.5):
    return {"color": style.rgb, "ls": style.dashes, "lw": 1.7,
            "marker": style.marker, "ms": size, "mew": 1.2,
            "mfc": "white" if style.hollow else style.rgb, "mec": style.rgb}


def bar_style(style):
    """Returns the look of a bar. A hatch over a full bar is white."""
    full = not style.hollow
    return {"facecolor": style.rgb if full else "white", "hatch": style.hatch,
            "edgecolor": "white" if full and style.hatch else style.rgb}


def part_style(colour, place=0):
    """Returns the look of a part of a stack. Another `place` is another hatch."""
    return {"facecolor": COLOURS[colour], "edgecolor": "white", "hatch": HATCHES[place % len(HATCHES)]}


def categories_of(marks):
    return list(dict.fromkeys(mark.x for mark in marks))


def lines(axes, marks, styles, plot, published=()):
    """Draws medians, joined by lines, with intervals. A mark without x is a horizontal line, the
    high column of a range is a thin dotted line. Published points are rings, over the lines."""
    names = categories_of([m for m in (*marks, *published) if m.x is not None])
    by_name = any(isinstance(name, str) for name in names)
    _, high = plot.get("low_high", (None, None))
    for series, style in styles.items():
        upper = sorted((m for m in marks if m.series == series and m.column == high),
                       key=lambda m: m.x)
        axes.plot([m.x for m in upper], _sound(upper), color=style.rgb, ls=DASHES[2], lw=1.1, zorder=2)
        own = [m for m in marks if m.series == series and m.column != high]
        for level in (m for m in own if m.x is None):
            axes.axhline(level.middle, color=style.rgb, lw=1.2, ls=DASHES[2], zorder=1.5)
        own = [m for m in own if m.x is not None]
        x = [names.index(m.x) if by_name else m.x for m in own]
        if not own:
            continue
        if not by_name:
            order = sorted(range(len(own)), key=x.__getitem__)
            own, x = [own[i] for i in order], [x[i] for i in order]
        thin_bars(axes, x, own, style.rgb)
        line_through(axes, x, own, style)
    rings(axes, [(names.index(m.x) if by_name else m.x, m) for m in published], styles)
    scale_y(axes, plot)
    if by_name:
        name_x(axes, names)
    else:
        scale_x(axes, plot, names)
    if plot.get("y_scale", "linear") == "linear" and marks:
        axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))


def rings(axes, placed, styles):
    """Draws published points, pairs of an x and a mark, as rings with their series' markers. A
    dotted line joins the points of a series."""
    for series in dict.fromkeys(mark.series for _, mark in placed):
        x, y = zip(*((x, mark.middle) for x, mark in placed if mark.series == series))
        axes.plot(x, y, color=INK, ls=DASHES[2], lw=1, zorder=4)
        axes.plot(x, y, **PUBLISHED, zorder=5)
        axes.plot(x, y, **{**line_style(styles[series], 4), "ls": "none"}, zorder=6)


def undecided(axes, marks):
    """Shades the rates within DECIDED times of the best log. Of simulated logs, these have no order."""
    best = {}
    for mark in marks:
        if mark.facts["log"] != "none":
            best[mark.x] = max(mark.middle, best.get(mark.x, 0))
    x = sorted(best)
    axes.fill_between(x, [best[at] / DECIDED for at in x], [best[at] for at in x], color=TIED, lw=0,
                      zorder=1)


def thin_bars(axes, x, marks, colour, zorder=2):
    lows, highs = zip(*(mark.bar for mark in marks))
    axes.vlines(x, lows, highs, color=colour, lw=0.9, zorder=zorder)


def line_through(axes, x, marks, style, size=5.5):
    """Draws a line through the sound marks. It breaks at a doubtful mark, which measured no rate."""
    axes.plot(x, _sound(marks), **line_style(style, size), zorder=3)
    hollow_out(axes, x, marks, style, size)


def _sound(marks):
    return [math.nan if mark.doubtful else mark.middle for mark in marks]


def hollow_out(axes, x, marks, style, size=5.5):
    """Draws the doubtful marks hollow and grey."""
    for at, mark in zip(x, marks):
        if mark.doubtful:
            axes.plot(at, mark.middle, **{**line_style(style, size), "ls": "none",
                                          "mfc": "white", "mec": DOUBTFUL}, zorder=3.5)


def points(axes, marks, styles, plot):
    """Draws medians over a column x, with intervals of y. labels.name_points() adds their names."""
    for mark in marks:
        style = styles[mark.series]
        thin_bars(axes, [mark.x], [mark], style.rgb)
        axes.plot(mark.x, mark.middle, **{**line_style(style, 6), "ls": "none"}, zorder=3)
        hollow_out(axes, [mark.x], [mark], style, 6)
    axes.grid(axis="x", color=GRID, lw=0.8)
    scale_y(axes, plot)
    scale_x(axes, plot, [])
    axes.margins(0.1)
    if plot.get("y_scale", "linear") == "linear":
        axes.set_ylim(bottom=max(0, axes.get_ylim()[0]))
    if plot.get("x_scale") == "log":
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=12))
    said = words_of(plot["x"])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: said(value)))


def family(axes, marks, styles, plot, members):
    """Draws `members` as lines, other series as thin grey lines. Returns members' last marks."""
    scale_y(axes, plot)
    scale_x(axes, plot, categories_of(marks))
    ends = []
    for series, style in styles.items():
        own = sorted((m for m in marks if m.series == series), key=lambda m: m.x)
        if not own:
            continue
        x = [m.x for m in own]
        if series in members:
            thin_bars(axes, x, own, style.rgb)
            line_through(axes, x, own, style, 4)
            ends.append(own[-1])
        else:
            axes.plot(x, _sound(own), color="#d9d9d9", lw=0.9, zorder=2)
    values = sorted({m.x for m in marks})
    low, high = values[0], values[-1]
    linear = plot.get("x_scale", "linear") == "linear"
    axes.set_xlim(right=high + 0.6 * (high - low) if linear else high * (high / low) ** 0.6)
    ticks = []
    for value in reversed(values):  # the panels are narrow, so not every value gets a label
        if not ticks or _apart([value, ticks[-1]], plot.get("x_scale", "linear"), low, high, 0.14):
            ticks.append(value)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    return ends


def name_lines(axes, ends, styles):
    """Writes names at the ends of lines, without overlap. The axes must have their final size."""
    least = 8 * axes.figure.dpi / 72  # pixels between two names
    heights, last = [], -math.inf
    placed = sorted((axes.transData.transform((m.x, m.middle))[1], m.series, m) for m in ends)
    for height, _, _ in placed:
        last = max(height, last + least)
        heights.append(last)
    # A name that was pushed up moves half of the way down, so that it stays near its line.
    for i in reversed(range(len(placed))):
        above = heights[i + 1] - least if i + 1 < len(placed) else math.inf
        heights[i] = min(above, (heights[i] + placed[i][0]) / 2)
    for (height, series, mark), wanted in zip(placed, heights):
        axes.annotate(series or "all", (mark.x, mark.middle),
                      (6, (wanted - height) * 72 / axes.figure.dpi), textcoords="offset points",
                      va="center", fontsize=7, color=styles[series].rgb, annotation_clip=False)


def _groups(marks, styles):
    """Returns the names of x, the series, a bar's width, and a function from a bar to its x."""
    names = categories_of(marks)
    drawn = [series for series in styles if any(m.series == series for m in marks)]
    width = 0.82 / max(1, len(drawn))
    return names, drawn, width, lambda name, series: (
        names.index(name) + (drawn.index(series) - (len(drawn) - 1) / 2) * width)


def bars(axes, marks, styles, plot, published=()):
    """Draws groups of bars, unsafe bars hatched, and published points as rings. Writes a bar's
    number if there is space for it."""
    names, drawn, width, place = _groups([*marks, *published], styles)
    room = _inches(axes) / max(1, len(names)) * width * 1.12
    digits = next((digits for digits in (3, 2) if all(
        len(short(mark.middle, digits)) * LETTER <= room for mark in marks)), None)
    scale_y(axes, plot)
    for mark in (m for series in drawn for m in marks if m.series == series):
        style = of_bar(styles[mark.series], mark.x) if len(drawn) == 1 else styles[mark.series]
        x = place(mark.x, mark.series)
        look = bar_style(style)
        if mark.doubtful:
            look.update(facecolor=DOUBTFUL, edgecolor=DOUBTFUL)
        axes.bar(x, mark.middle, width * 0.9, linewidth=1.1, **look)
        if mark.low != mark.high:
            thin_bars(axes, [x], [mark], INK, zorder=4)
        if digits:
            axes.annotate(short(mark.middle, digits), (x, max(mark.bar[1], mark.middle)), (0, 2.5),
                          textcoords="offset points", ha="center", fontsize=7, color=INK)
    for mark in published:
        style = of_bar(styles[mark.series], mark.x) if len(drawn) == 1 else styles[mark.series]
        rings(axes, [(place(mark.x, mark.series), mark)], {mark.series: style})
    axes.margins(y=0.12)
    name_x(axes, names)
    axes.set_xlim(-0.55, len(names) - 0.45)


def ranges(axes, marks, styles, plot):
    """Draws lines from a low column (tick) to a high column (diamond, hollow if not durable)."""
    low, high = plot["low_high"]
    said = words_of(high)
    names, drawn, width, place = _groups(marks, styles)
    room = _inches(axes) / max(1, len(names)) * width * 1.8
    few = all(len(said(m.middle, 2)) * LETTER <= room for m in marks if m.column == high)
    scale_y(axes, plot)
    for series in drawn:
        style = styles[series]
        of_series = [m for m in marks if m.series == series]
        own = {(m.x, m.column): m.middle for m in of_series}
        hollow = style.unsafe or all(m.facts["log"] == "none" for m in of_series)
        # The middle bars of four often have the same height, so their labels move sideways.
        ha, aside = {1: ("right", 9), 2: ("left", -9)}.get(
            drawn.index(series) if len(drawn) == 4 else 0, ("center", 0))
        for name in names:
            ends = [own.get((name, column)) for column in (low, high)]
            if None in ends:
                continue
            x = place(name, series)
            style = of_bar(styles[series], name) if len(drawn) == 1 else styles[series]
            rgb = DOUBTFUL if any(m.doubtful for m in of_series if m.x == name) else style.rgb
            axes.plot([x, x], ends, color=rgb, lw=2, zorder=2)
            thin_bars(axes, [x, x], [m for m in of_series if m.x == name], INK, zorder=4)
            axes.plot(x, ends[0], "_", color=rgb, ms=9, mew=1.8, zorder=3)
            axes.plot(x, ends[1], "D", color=rgb, mfc="white" if hollow else rgb,
                      ms=5, mew=1.3, zorder=3)
            if few:
                axes.annotate(said(ends[1], 2), (x, ends[1]), (aside, 5.5), ha=ha, fontsize=7,
                              textcoords="offset points", color=INK)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: said(value)))
    axes.margins(y=0.2)
    name_x(axes, names)
    axes.set_xlim(-0.55, len(names) - 0.45)


def stacked(axes, marks, parts, plot):
    """Draws a bar of parts for each x and series. `parts` maps columns to (name, look)."""
    places = list(dict.fromkeys((m.x, m.series) for m in marks))
    total = dict.fromkeys(places, 0.0)
    values = {(m.x, m.series, m.column): m.middle for m in marks}
    x, at = {}, 0.0
    for i, place in enumerate(places):
        at += 0 if i == 0 else 0.86 if places[i - 1][0] == place[0] else 1.15
        x[place] = at
    for column, (_, look) in parts.items():
        for place in places:
            value = values.get((*place, column))
            if value is None:
                continue
            axes.bar(x[place], value, 0.74, bottom=total[place], linewidth=0.6, **look)
            total[place] += value
    tallest = max(total.values(), default=0)
    for place in places:  # a number in each part that is high enough
        bottom = 0.0
        for column, (_, look) in parts.items():
            value = values.get((*place, column)) or 0.0
            if value > 0.06 * tallest and len(places) <= 16:
                axes.annotate(short(value, 2), (x[place], bottom + value / 2), ha="center",
                              va="center", fontsize=7, color="white", fontweight="bold",
                              bbox={"fc": look["facecolor"], "ec": "none", "pad": 0.5})
            bottom += value
    scale_y(axes, plot)
    labels = [f"{name}\n{series}" if series and name else str(name or series)
              for name, series in places]
    _ticks(axes, [x[place] for place in places], labels)
    axes.set_xlim(-0.7, max(at + 0.7, 1.9))


def cdf(axes, traces, styles, plot):
    """Draws distributions: the rounds' median, and a shadow from smallest to largest."""
    for trace in traces:
        style = styles[trace.series]
        x, y, low, high = zip(*trace.points)
        axes.fill_betweenx(y, low, high, color=style.rgb, alpha=0.16, lw=0)
        axes.plot(x, y, color=style.rgb, ls=style.dashes, lw=1.7)
        for fraction in (0.5, 0.99):
            at = min(trace.points, key=lambda p, f=fraction: abs(p[1] - f))
            axes.plot(at[0], at[1], **{**line_style(style, 5), "ls": "none"})
    scale_latency(axes, plot)
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def scale_latency(axes, plot):
    scale_x(axes, {"x_scale": "log", **plot}, [])
    low, high = axes.get_xlim()
    if plot.get("x_scale", "log") == "log":
        decades, room = math.log10(high / low), _inches(axes) / 0.55
        subs = next((subs for subs in ((1, 2, 5), (1, 3)) if decades * len(subs) < room), (1,))
        axes.xaxis.set_major_locator(LogLocator(subs=subs, numticks=12))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: duration(value)))


def timeline(axes, traces, styles, plot):
    for trace in traces:
        style = styles[trace.series]
        if trace.points:
            x, y, _, _ = zip(*trace.points)
            axes.plot(x, y, color=style.rgb, ls=style.dashes, lw=1.2)
    scale_y(axes, plot)
    if plot.get("y_scale", "linear") == "linear":
        axes.set_ylim(bottom=0)
    axes.margins(x=0.01)


def scale_y(axes, plot):
    axes.grid(axis="y", color=GRID, lw=0.8)
    if plot.get("y_scale", "linear") in ("log", "log2"):
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(numticks=12))
        axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))


def finish_y(axes, plot):
    """Adds labels to a logarithmic axis of less than two decades. Call this after drawing."""
    if plot.get("y_scale", "linear") not in ("log", "log2"):
        return
    low, high = axes.get_ylim()
    if math.log10(high / low) < 1.7:
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=12))


def scale_x(axes, plot, values):
    """Sets the scale of x. If there are few measured values, the ticks are these values."""
    scale = plot.get("x_scale", "linear")
    if scale != "linear":
        axes.set_xscale("log", base=2 if scale == "log2" else 10)
    axes.xaxis.set_minor_locator(NullLocator())
    numbers = sorted(value for value in values if isinstance(value, float))
    if 0 < len(numbers) <= 9 and _apart(numbers, scale, numbers[0], numbers[-1]):
        axes.xaxis.set_major_locator(FixedLocator(numbers))
    elif scale != "linear":
        axes.xaxis.set_major_locator(LogLocator(base=2 if scale == "log2" else 10, numticks=10))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))


def _apart(numbers, scale, low, high, share=0.085):
    """Returns whether labels at these values have gaps of at least this share of the axis."""
    def at(value):
        return math.log(value) if scale != "linear" and value > 0 else value
    width = (at(high) - at(low)) or 1
    return all(at(b) - at(a) > share * width for a, b in zip(numbers, numbers[1:]))


def _inches(axes):
    return axes.figure.figure.get_size_inches()[0] * axes.get_position().width


def name_x(axes, names):
    _ticks(axes, range(len(names)), [str(name) for name in names])


def _ticks(axes, places, labels):
    axes.set_xticks(list(places), labels)
    axes.tick_params(axis="x", length=0)
    longest = max((len(line) for label in labels for line in label.split("\n")), default=0)
    if longest * 0.075 > _inches(axes) / max(1, len(labels)):
        dense = _inches(axes) < 0.25 * len(labels)
        for label in axes.get_xticklabels():
            label.set(rotation=90 if dense else 32, ha="right", rotation_mode="anchor",
                      va="center" if dense else "top", fontsize=7.5 if dense else 8.5)


def dependency_handles():
    return [Line2D([], [], color=COLOURS[colour], label=name) for colour, name in EDGE_KINDS.values()]


def dependencies(axes, edges):
    """Draws a line for each log, and edges from transactions to those that they overwrite."""
    streams = sorted({stream for edge in edges for stream in (edge[1], edge[3])})
    for stream in streams:
        axes.axhline(stream, color="#bbbbbb", lw=0.8, zorder=1)
    for tight in (False, True):
        axes.add_collection(LineCollection(
            [(edge[0:2], edge[2:4]) for edge in edges if edge[4] == tight],
            colors=COLOURS[EDGE_KINDS[tight][0]], linewidths=0.7, alpha=0.65, zorder=2 + tight))
    ends = {tuple(end) for edge in edges for end in (edge[0:2], edge[2:4])}
    axes.plot([x for x, _ in ends], [y for _, y in ends], ".", color="#333333", ms=2.5, zorder=4)
    axes.set_yticks(streams, [f"log {stream}" for stream in streams])
    axes.margins(x=0.01)
    axes.invert_yaxis()
