"""Draws the figure of an experiment as a PNG: our lines, and the published points over them.

Stacked bars cannot lie over each other, so published stacks have a panel at the left of ours. All
figures have the title, the claim, the verdict, a legend above the panels, and the sources of the
numbers. plot_kinds.py draws the panels.
"""

import io
import pathlib
import re
import textwrap

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from experiments import curves, doubts, files, labels, plot_kinds, verdicts
from experiments.groups import DECIDED, RATE
from experiments.style import (FAMILIES, OTHERS, VERDICTS, component_colours,
                               component_names, family_of, name_of, schemes_of, short_machine)

UNIT = re.compile(r" \((us|ms)\)$")  # removed if the ticks show units
WIDTH = 9.0  # inches, at 150 dots: 1350 pixels, and readable at 900
DOTS = 150
MOST_LINES = 8  # in one panel; a figure with more schemes has one panel per family
UNKNOWN = {"log": "", "unsafe": ""}  # values of published points
SETTINGS = {"font.size": 8.5, "font.family": "DejaVu Sans", "axes.spines.top": False,
            "axes.spines.right": False, "axes.edgecolor": "#777777", "axes.labelcolor": "#333333",
            "xtick.color": "#333333", "ytick.color": "#333333", "xtick.labelsize": 8.5,
            "ytick.labelsize": 8.5, "ytick.major.size": 0, "hatch.linewidth": 1.1,
            "axes.axisbelow": True, "text.parse_math": False}  # a $ in a name is text


def draw(experiment, measured, path, extras):
    """Writes the figure of a Measured. `extras` are the rows of the files beside the CSV file."""
    with plt.rc_context(SETTINGS):
        size = pathlib.Path(path).stem
        figure = Figure(experiment, measured, extras, size)
        write(path, figure.image(), {"dependencies": 64, "points": 255}.get(figure.kind, 128))


def pixels(figure):
    """Returns the image of a matplotlib figure, which it closes."""
    written = io.BytesIO()
    figure.savefig(written, dpi=DOTS, facecolor="white")
    plt.close(figure)
    return Image.open(written).convert("RGB")


def write(path, image, colours, **texts):
    """Writes an image with a palette, which makes the file three times smaller, and with texts.
    MAXCOVERAGE keeps rare colours, so a scheme has the same colour in every figure."""
    written, info = io.BytesIO(), PngInfo()
    for name, said in texts.items():
        info.add_text(name, said)
    image.quantize(colours, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        written, "PNG", optimize=True, pnginfo=info)
    files.write(path, written.getvalue())


class Figure:
    """The parts of a figure, which are drawn from the top down."""

    def __init__(self, experiment, measured, extras, size):
        self.experiment, self.measured, self.size = experiment, measured, size
        self.here = "simulated" if measured.simulated else "here"
        self.plot, self.kind = experiment.plot, experiment.plot.get("kind", "lines")
        self.drawn = curves.drawn_of(experiment, measured, extras)
        self.edges = curves.edges(experiment, measured, extras.get("dependencies", []))
        self.columns = curves.columns_of(self.plot) or [""]
        self.published = [] if self.kind == "dependencies" else curves.published_points(experiment)
        self.beside = self.kind == "stacked"  # the published panels are beside ours
        over = [] if self.beside else [given["panel"] for given in self.published]
        self.panels = list(dict.fromkeys([*(d.panel for d in self.drawn), *over])) or list(
            self.edges) or [""]
        self.y_scale = curves.y_scale(experiment, self.drawn)
        self.styles = curves.styles_of(experiment, self.drawn)
        self.families = self._families()
        if self.families:
            self.families = {f"{panel}: {family}": (panel, members) for panel in self.panels
                             for family, members in self.families.items()}
            self.panels = list(self.families)
        self.parts = dict(zip(self.columns, component_names(self.columns)))
        self.shaded = (measured.simulated and self.kind == "lines" and len(self.styles) > 1
                       and self.plot.get("x") in experiment.axis_names()
                       and all(isinstance(mark.x, float) and RATE.search(mark.column)
                               for mark in self.drawn))
        if self.kind == "stacked":
            colours = component_colours(list(self.parts.values()))
            self.parts = {c: (name, plot_kinds.part_style(colours[name])) for c, name in self.parts.items()}

    def _families(self):
        """Maps families to their series and `none`, if one panel cannot hold all series."""
        schemes = schemes_of(curves.series_of(self.drawn))
        if self.kind != "lines" or len(set(schemes.values())) <= MOST_LINES or None in schemes.values():
            return {}
        families = {}
        for family in (*FAMILIES, OTHERS):
            members = {name for name, scheme in schemes.items()
                       if scheme != "none" and family_of(scheme) == family}
            if members:
                families[family] = members | {name for name, of in schemes.items() if of == "none"}
        return families

    def cells(self):
        """Returns rows of cells: (panel, column, whether published), or None for an empty cell."""
        columns = self.columns if self.kind in ("bars", "timeline") else [None]
        if len(columns) > 1:
            return [[(panel, column, False) for panel in self.panels] for column in columns]
        have = list(dict.fromkeys(p["panel"] for p in self.published)) if self.beside else []
        cells = [(panel, columns[0], published)
                 for panel in dict.fromkeys([*self.panels, *have]) for published in (True, False)
                 if panel in (have if published else self.panels)]
        if len(have) == 1:
            cells.sort(key=lambda cell: not cell[2])
        wide = 2 if len(have) > 1 or len(cells) in (2, 4) else min(3, len(cells))
        cells += [None] * (-len(cells) % wide)
        return [cells[i:i + wide] for i in range(0, len(cells), wide)]

    def image(self):
        cells = self.cells()
        single = len(cells) == 1
        self.fits = int(140 / len(cells[0])) - 4  # letters in a panel's width
        self.lines_of_where = 1 + max((self._where(c[0], c[2]).count("\n")
                                       for row in cells for c in row if c), default=0)
        tall = {"points": 4.0}.get(self.kind, 3.1 if single else 2.5)
        heights = [2.15 if i else tall for i in range(len(cells))]
        header = Header(self)
        doubtful, origin = (textwrap.wrap(text, 185) for text in self.said_of_rows())
        said = [*doubtful, *origin[:2]]
        top, bottom = header.inches, 0.18 + 0.12 * max(2, len(said))
        figure = plt.figure(figsize=(WIDTH, top + sum(heights) + bottom), dpi=DOTS)
        head, body, foot = figure.subfigures(3, 1, height_ratios=[top, sum(heights), bottom])
        header.draw(head)
        foot.text(0.012, 0.07 / bottom, "\n".join(said), fontsize=6.8, color="#777777", va="bottom")
        shares = [0.8 if cell and cell[2] else 1 for cell in cells[0]] if single else None
        self.fill(body, cells, heights, 0.28 + 0.15 * self.lines_of_where, shares)
        return pixels(figure)

    def fill(self, body, cells, heights, words, shares=None):
        """Draws the panels, below `words` inches for the words above a panel."""
        self.ends = []  # marks at the ends of lines, for the lines' names
        self.named = []  # panels whose points have names beside them
        grid = body.subplots(len(cells), len(cells[0]), squeeze=False,
                             gridspec_kw={"height_ratios": heights, "width_ratios": shares})
        above = [[None] * len(cells[0]), *cells]
        for row_axes, row, before, below in zip(grid, cells, above, [*cells[1:], cells[0]]):
            for j, (axes, cell) in enumerate(zip(row_axes, row)):
                if cell is None:
                    axes.set_axis_off()
                    continue
                # Among a column's panels, the first has the title, and the last has the x axis.
                self._panel(axes, *cell, left=j == 0, first=not before[j] or before[j][0] != cell[0]
                            or before[j][2] != cell[2], last=row is cells[-1] or not below[j] or
                            below[j][0] != cell[0] or below[j][2] != cell[2])
        self._share_scales(grid, cells)
        for _ in range(2):  # the ticks' width changes with the panel's height
            self._place(body, grid, cells, sum(heights), words)
        for axes, ends in self.ends:
            plot_kinds.name_lines(axes, ends, self.styles)
        for axes, marks in self.named:
            labels.name_points(axes, marks, self.styles)

    @staticmethod
    def _place(body, grid, cells, inches, words):
        same = len(cells) > 1 and all(c and d and (c[0], c[2]) == (d[0], d[2])
                                      for c, d in zip(cells[0], cells[1]))
        body.subplots_adjust(left=0.08, right=0.985, top=1 - words / inches, bottom=0.5 / inches,
                             wspace=0.2, hspace=0.12 if same else 0.5 + words / 2)
        body.align_ylabels([row[0] for row in grid])
        renderer = body.figure.canvas.get_renderer()
        dots = body.bbox.width
        left = min(row[0].get_tightbbox(renderer).x0 for row in grid) - body.bbox.x0
        bottom = min(axes.get_tightbbox(renderer).y0 for axes in grid[-1]) - body.bbox.y0
        body.subplots_adjust(left=0.08 + (0.1 * DOTS - left) / dots,
                             bottom=(0.5 * DOTS - bottom + 0.03 * DOTS) / (inches * DOTS))

    def _share_scales(self, grid, cells):
        """Gives the panels with the same column one scale, unless a panel would look flat."""
        own = {}
        for row_axes, row in zip(grid, cells):
            for axes, cell in zip(row_axes, row):
                if cell:
                    own.setdefault(cell[1], []).append(axes)
        for column, shared in own.items():
            low, high = zip(*(axes.get_ylim() for axes in shared))
            for axes in shared:
                if self._scale(column) != "linear" or max(high) < 3 * min(high):
                    axes.set_ylim(min(low), max(high))
                plot_kinds.finish_y(axes, {**self.plot, "y_scale": self._scale(column)})

    def _scale(self, column):
        ranges = column in self.plot.get("low_high", []) and self.kind == "bars"
        return self._of_column(self.y_scale or ("log" if ranges else "linear"), column)

    def _of_column(self, value, column):
        """Returns a plot's value, or this column's element if the value is a list."""
        if not isinstance(value, list):
            return value
        given = curves.as_list(self.plot.get("y"))
        return value[given.index(column)] if column in given else value[0]

    def _panel(self, axes, panel, column, published, last, first, left):
        plot = {**self.plot, "y_scale": self._scale(column)}
        ends = plot.get("low_high", [])
        columns = ends if column in ends else [column]
        given = self._published(panel)
        drawn = given if published else [
            d for d in self.drawn if d.panel == panel and (column is None or d.column in columns)]
        if self.kind == "dependencies":
            plot_kinds.dependencies(axes, self.edges.get(panel, []))
        elif self.kind in curves.TRACED:
            {"cdf": plot_kinds.cdf, "timeline": plot_kinds.timeline}[self.kind](
                axes, drawn, self.styles, plot)
            plot_kinds.rings(axes, [(mark.x, mark) for mark in given], self.styles)
        elif self.kind == "stacked":
            plot_kinds.stacked(axes, drawn, self.parts, plot)
        elif self.kind == "bars" and column in ends:
            plot_kinds.ranges(axes, drawn, self.styles, plot)
        elif self.kind == "bars":
            plot_kinds.bars(axes, drawn, self.styles, plot, given)
        elif self.kind == "points":
            plot_kinds.points(axes, drawn, self.styles, plot)
            self.named.append((axes, drawn))
        elif panel in self.families:
            of_panel, members = self.families[panel]
            ends = plot_kinds.family(axes, [d for d in self.drawn if d.panel == of_panel],
                                     self.styles, plot, members)
            self.ends.append((axes, ends))
        else:
            plot_kinds.lines(axes, drawn, self.styles, plot, given)
        if self.shaded:
            of_panel = self.families.get(panel, [panel])[0]
            plot_kinds.undecided(axes, [d for d in self.drawn if d.panel == of_panel])
        self._words(axes, panel, column, published, last, first, left)

    def _words(self, axes, panel, column, published, last, first, left):
        if first:
            where = "published" if published else self.here
            axes.set_title(panel or where, loc="left", fontsize=9.5, fontweight="bold",
                           color="#222222", pad=7 + 10.5 * self.lines_of_where)
            said = self._where(panel, published)
            axes.annotate(said, (0, 1), (0, 3 + 10.5 * self.lines_of_where), va="top",
                          xycoords="axes fraction", textcoords="offset points", fontsize=7.5,
                          color="#666666")
        if left:
            words = self._of_column(curves.y_labels(self.plot) or column or self.columns[0], column)
            ranges = column in self.plot.get("low_high", []) and self.kind == "bars"
            axes.set_ylabel(UNIT.sub("", words) if ranges else words, fontsize=8.5)
        if last:
            words = self.plot.get("x_label", "")
            words = UNIT.sub("", words) if self.kind in ("cdf", "points") else words
            axes.set_xlabel(words, fontsize=8.5)
        else:
            axes.tick_params(axis="x", labelbottom=False)

    def _where(self, panel, published):
        if self.families:
            return ""  # the foot of the figure names the source
        where, of = "published", self.experiment.setting
        if not published:
            origin = self.measured.origin
            machine, revision = short_machine(origin.get("machine", "")), origin.get("revision", "")
            where, of = self.here, ", ".join(filter(None, (machine, revision[:8], self.size)))
        said = f"{where}: {of}" if panel and not of.startswith(where) else of
        return "\n".join(textwrap.wrap(said, self.fits, max_lines=2, placeholder=" ..."))

    def _published(self, panel):
        return [curves.Mark(panel, given["series"], x, given["column"], y, y, y, 1, UNKNOWN)
                for given in self.published if given["panel"] == panel
                for x, y in zip(given["x"], given["y"])]

    def said_of_rows(self):
        """Returns two texts: the doubts about the rows, and where the numbers come from."""
        rounds = self.measured.rounds
        spread = {"stacked": "", "timeline": "", "dependencies": "",
                  "cdf": "; shadows: from the smallest to the largest"}.get(
                      self.kind, "; thin bars: 95 % intervals, from half to twice the median at most")
        said = ["one round" if rounds == 1 else f"the first of {rounds} rounds"
                if self.kind in ("timeline", "dependencies") else
                f"medians of {rounds} rounds{spread}", self.measured.origin.get("machine", ""),
                f"logjam {self.measured.origin.get('revision', '')}"]
        said += [f"{log} is what the paper calls {way}" for (_, way), log in
                 self.experiment.names.items()]
        sources = dict.fromkeys(p["from"] for p in self.published if p["from"])
        if sources:
            said.append("published points: " + ", ".join(sources))
        of_rows = doubts.sentences(self.measured.rows)
        if any(getattr(mark, "doubtful", False) for mark in self.drawn):
            of_rows.append("hollow and grey, and on no line: more than a third of the point's rows are "
                           "disturbed or unsteady")
        if self.shaded:
            of_rows.append(f"shaded: within {DECIDED} times of the best log, where the model decides "
                           "no order")
        return ["; ".join(of_rows), "; ".join(said)]


class Header:
    """The title, the claim, the verdict and the legend. `inches` is their height."""

    def __init__(self, figure):
        self.figure = figure
        experiment = figure.experiment
        self.verdict, self.note, self.key = verdicts.words_of_figure(
            experiment, figure.measured.checks())
        if self.verdict and figure.measured.simulated:
            self.verdict += ", simulated"
        # The note is on the right of the claim.
        letters = max(56, 134 - len(self.note)) if self.note else 138
        self.claim = textwrap.wrap(experiment.claim, letters)
        self.handles = self._handles()
        self.per_line = self._per_line()
        lines = -(-len(self.handles) // self.per_line) if self.handles else 0
        self.claim_inches = 0.165 * len(self.claim)
        self.inches = 0.42 + self.claim_inches + 0.21 * lines + 0.08

    def _handles(self):
        figure, kind = self.figure, self.figure.kind
        if kind == "dependencies":
            return plot_kinds.dependency_handles()
        if kind == "stacked":
            return [Patch(label=name, **look) for name, look in figure.parts.values()]
        named = {name: style for name, style in figure.styles.items() if name}
        published = [Line2D([], [], label="published", **plot_kinds.PUBLISHED)] if figure.published else []
        if kind == "points" or figure.families:
            return []
        if kind == "bars" and len(named) == 1:
            return published
        if kind == "bars":
            bars = [Patch(label=name_of(name, s), **plot_kinds.bar_style(s))
                    for name, s in named.items()]
            return bars + published
        return [Line2D([], [], **plot_kinds.line_style(s), label=name_of(name, s))
                for name, s in named.items()] + published

    def _per_line(self):
        longest = max((len(handle.get_label()) for handle in self.handles), default=1)
        total = sum(len(handle.get_label()) + 7 for handle in self.handles)
        return max(1, len(self.handles) if total < 135 else 135 // (longest + 7))

    def draw(self, head):
        experiment = self.figure.experiment

        def down(inches):
            return 1 - inches / self.inches

        # The title shares its line with the verdict, so a long title is smaller.
        letters = len(experiment.id) + len(experiment.title) + 1.1 * len(self.verdict)
        size = 13 * min(1, 74 / letters)
        number = head.text(0.012, down(0.26), experiment.id, fontsize=size, fontweight="bold",
                           color="#888888")
        end = number.get_window_extent(head.figure.canvas.get_renderer()).x1 - head.bbox.x0
        head.text(end / head.bbox.width + 0.01, down(0.26), experiment.title, fontsize=size,
                  fontweight="bold", color="#111111")
        if self.verdict:
            head.text(0.985, down(0.25), self.verdict, fontsize=8.5, fontweight="bold",
                      color="white", ha="right", bbox={"boxstyle": "round,pad=0.4",
                                                       "fc": VERDICTS[self.key], "ec": "none"})
        head.text(0.99, down(0.39), self.note, fontsize=8, va="top", ha="right",
                  color=VERDICTS[verdicts.UNTESTED])
        head.text(0.012, down(0.36), "\n".join(self.claim), fontsize=8.5, va="top",
                  color="#444444", linespacing=1.35)
        if self.handles:
            head.legend(handles=self.handles, loc="upper left", ncol=self.per_line, frameon=False,
                        bbox_to_anchor=(0.004, down(0.38 + self.claim_inches)), fontsize=8.5,
                        columnspacing=1.6, handletextpad=0.5, borderpad=0.2, labelspacing=0.35)
