"""Draws the figure of an experiment for a paper: as PDF or PGF, as wide as one or two columns. Writes
its table as LaTeX.

A paper has a caption where the PNG has its title, claim, verdict and sources, so the figure has
panels and a legend only, and caption() returns what the caption must say. Series differ in markers,
dashes and hatches, too, because many readers print in grey. A PGF has the fonts of its document.
"""

import io
import shutil
import subprocess
import textwrap

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.backends.backend_pgf import LatexError
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, FuncFormatter

from experiments import files, plots
from experiments.errors import Refused
from experiments.plot_kinds import part_style
from experiments.style import component_colours, in_grey
from experiments.text_tables import booktabs, heads_and_lines, in_latex, notes

INCHES = {1: 3.33, 2: 7.0}  # a column and the width of a page in the templates of ACM, IEEE and VLDB
LETTER = 8  # points
LETTERS_PER_INCH = 15  # of a legend
PANEL, MORE_PANELS, POINTS = 1.9, 1.6, 2.6  # inches of a panel's height
# Type 42 keeps letters as letters: many conferences refuse matplotlib's default, type 3.
SETTINGS = {**plots.SETTINGS, "font.family": "serif", "font.serif": ["STIXGeneral"],
            "font.size": LETTER, "xtick.labelsize": LETTER, "ytick.labelsize": LETTER,
            "pdf.fonttype": 42,
            "pgf.texsystem": "pdflatex", "pgf.rcfonts": False, "hatch.linewidth": 0.7}


def caption(experiment, sentences):
    """Returns in one line what a caption must say, so that nobody takes the numbers for others."""
    words = [f"{experiment.id}: {experiment.title}", *sentences]
    return " ".join("; ".join(filter(None, words)).split())


class PaperFigure(plots.Figure):
    def __init__(self, experiment, measured, extras, size, columns):
        super().__init__(experiment, measured, extras, size)
        self.columns_wide = columns
        self.styles = in_grey(self.styles)
        self.lines_of_where = 0
        if self.kind == "stacked":
            names = [name for name, _ in self.parts.values()]
            colours = component_colours(names)
            self.parts = {column: (name, part_style(colours[name], place)) for place, (column, name)
                          in enumerate(zip(self.parts, names))}

    def cells(self):
        rows = super().cells()
        cells = [cell for row in rows for cell in row if cell]
        most = 2 if self.columns_wide == 2 or len(cells) > 4 else 1
        if len(rows[0]) <= most or self.columns_wide == 2:
            return rows
        cells += [None] * (-len(cells) % most)
        return [cells[i:i + most] for i in range(0, len(cells), most)]

    def _where(self, panel, published):
        return ""  # the caption says where

    def _titled(self):
        return any(self.panels) or self.beside and bool(self.published)

    def _words(self, axes, panel, column, published, last, first, left):
        super()._words(axes, panel, column, published, last, first, left)
        axes.set_title(axes.get_title(loc="left") if self._titled() else "", loc="left",
                       fontsize=LETTER, fontweight="bold", pad=4)
        axes.set_ylabel(textwrap.fill(axes.get_ylabel(), int(LETTERS_PER_INCH * MORE_PANELS)),
                        fontsize=LETTER)
        axes.xaxis.label.set_fontsize(LETTER)

    def composed(self):
        """Returns the matplotlib figure."""
        cells, width = self.cells(), INCHES[self.columns_wide]
        handles = plots.Header(self).handles
        tall = POINTS if self.kind == "points" else PANEL
        heights = [MORE_PANELS if i else tall for i in range(len(cells))]
        longest = max((len(handle.get_label()) for handle in handles), default=0)
        per_line = max(1, min(len(handles), int(width * LETTERS_PER_INCH / (longest + 8))))
        top = 0.04 + 0.148 * -(-len(handles) // per_line)
        figure = plt.figure(figsize=(width, top + sum(heights)), dpi=plots.DOTS)
        head, body = figure.subfigures(2, 1, height_ratios=[top, sum(heights)])
        if handles:
            head.legend(handles=handles, loc="center", ncol=per_line, frameon=False, fontsize=LETTER,
                        columnspacing=1.2, handletextpad=0.4, handlelength=2.8, borderpad=0, labelspacing=0.25)
        self.fill(body, cells, heights, 0.22 if self._titled() else 0.06)
        return figure


def escape(figure):
    """Makes LaTeX of all texts of a figure, because matplotlib's own escapes are incomplete."""
    for text in figure.findobj(Text):
        text.set_text(in_latex(text.get_text()))
    for axes in figure.findobj(Axes):
        for axis in (axes.xaxis, axes.yaxis):
            texts = axis.get_major_formatter()
            if isinstance(texts, (FixedFormatter, FuncFormatter)):
                axis.set_major_formatter(FuncFormatter(
                    lambda value, place, texts=texts: in_latex(texts(value, place))))


def refuse_without_latex():
    """Raises Refused if LaTeX, which measures the texts of a PGF, is not here."""
    for program, of, package in (("pdflatex", [], "texlive-latex-base"),
                                 ("kpsewhich", ["pgf.sty"], "texlive-pictures")):
        if not shutil.which(program) or of and subprocess.run(
                [program, *of], stdout=subprocess.DEVNULL, check=False).returncode:
            raise Refused(f"--format=pgf needs {' '.join([program, *of])} of Debian's package {package}: "
                          "LaTeX measures the texts; --format=pdf needs no LaTeX")


def draw(experiment, measured, path, extras, columns):
    """Writes the figure; the path's ending is its form. Returns what the caption must say."""
    form = path.suffix[1:]
    if form == "pgf":
        refuse_without_latex()
    with plt.rc_context(SETTINGS):
        figure = PaperFigure(experiment, measured, extras, path.stem, columns)
        said, drawn = caption(experiment, figure.said_of_rows()), figure.composed()
        try:
            files.write(path, _pgf(drawn, said) if form == "pgf" else _pdf(drawn, said))
        finally:
            plt.close(drawn)
    return said


def _pdf(drawn, said):
    written = io.BytesIO()
    drawn.savefig(written, format="pdf", facecolor="white",
                  metadata={"CreationDate": None, "Subject": said})
    return written.getvalue()


def _pgf(drawn, said):
    written = io.StringIO()
    escape(drawn)
    try:
        drawn.savefig(written, format="pgf", facecolor="white")
    except (LatexError, ValueError) as error:  # matplotlib raises ValueError for some of LaTeX's errors
        raise Refused(f"LaTeX cannot set a text of the figure: {str(error).splitlines()[0]}") from error
    return f"% {said}\n{written.getvalue()}"


def write_table(experiment, measured, path):
    """Writes the table of an experiment as LaTeX. Returns what the caption must say."""
    origin = measured.origin
    said = caption(experiment, [
        f"medians of {measured.rounds} rounds, and half of their 95 % intervals in percent",
        origin.get("machine", ""), f"logjam {origin.get('revision', '')}", *notes(measured)])
    files.write(path, booktabs(*heads_and_lines(measured.table()), said))
    return said
