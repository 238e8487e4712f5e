"""Tests the figures and tables for papers, and the figures of several files of rows."""

import re
import shutil
import subprocess
import unittest
from unittest import mock

import synthetic
from fixtures import LONGEST_SECONDS, InADirectory
from matplotlib.figure import Figure

from experiments import paper_figures, plot_kinds, rows_plot, store, style, text_tables
from experiments.errors import Refused

KINDS = ("LINES", "BARS", "POINTS", "STACKED", "CDF", "TIMELINE", "DEPENDENCIES")
NEEDED = ("pdflatex", "kpsewhich")
OTHER = "Intel(R) Xeon(R) Gold 6330 CPU, 56 cores, Linux 6.1.0"


def figure_of(toml, columns=1):
    one = synthetic.experiment(toml)
    return paper_figures.PaperFigure(one, synthetic.measured(one), synthetic.extras(one), "quick",
                                     columns)


def looks(axes):
    """Returns (marker, whether it is hollow, dashes) of each line with marks."""
    return [(line.get_marker(), line.get_markerfacecolor() == "white", str(line._dash_pattern))
            for line in axes.lines if line.get_marker() not in ("None", None, "")]


class Papers(InADirectory):
    def draw(self, toml, name, columns=1, **columns_of_rows):
        one, path = synthetic.experiment(toml), self.directory / name
        said = paper_figures.draw(one, synthetic.measured(one, **columns_of_rows), path,
                                  synthetic.extras(one), columns)
        return path.read_bytes(), said

    def test_a_pdf_is_as_wide_as_its_columns_and_keeps_its_letters(self):
        for columns, inches in ((1, 3.33), (2, 7.0)):
            for kind in KINDS:
                with self.subTest(kind=kind, columns=columns):
                    pdf, _ = self.draw(getattr(synthetic, kind), "quick.pdf", columns)
                    box = re.search(rb"/MediaBox \[ *0 0 ([\d.]+) ([\d.]+) *\]", pdf)
                    self.assertAlmostEqual(float(box[1]), 72 * inches, places=1)
                    self.assertLess(float(box[2]), 72 * 9.5, "higher than a page")
                    self.assertNotIn(b"/Type3", pdf)
                    self.assertIn(b"/CIDFontType2", pdf)

    def test_the_same_rows_give_the_same_file(self):
        first, _ = self.draw(synthetic.LINES, "quick.pdf")
        self.assertEqual(first, self.draw(synthetic.LINES, "quick.pdf")[0])

    def test_the_caption_says_where_the_numbers_come_from_and_how_doubtful_they_are(self):
        _, said = self.draw(synthetic.LINES, "quick.pdf", unsteady="it halves")
        for words in ("P5: Throughput against devices", "medians of 3 rounds", synthetic.MACHINE,
                      "logjam 0123456789ab", "72 of 72 rows are unsteady", "Fig. 5a"):
            self.assertIn(words, said)
        self.assertNotIn("\n", said)

    def test_a_figure_has_no_title_and_no_verdict(self):
        figure = figure_of(synthetic.LINES)
        drawn = figure.composed()
        words = " ".join(text.get_text() for text in drawn.findobj(lambda one: hasattr(one, "get_text")))
        self.assertNotIn("agree", words)
        self.assertNotIn(figure.experiment.title, words)
        self.assertIn("poplar", words)

    @unittest.skipUnless(all(map(shutil.which, NEEDED)), "there is no LaTeX")
    def test_latex_sets_a_pgf_and_a_table_with_every_letter(self):
        name = 'a_b{c}%$#&~^\\\\<|>\\"µ'
        self.draw(synthetic.LINES.replace('"poplar"]', f'"poplar", "{name}"]'), "lines.pgf")
        self.draw(synthetic.STACKED, "stacked.pgf", 2)
        self.assertLess((self.directory / "stacked.pgf").stat().st_size, 1 << 20, "LaTeX would be slow")
        odd = text_tables.booktabs(["log ±%", name], [[name, 1234.5], ["–", None]], "100 % said")
        (self.directory / "odd.tex").write_text(odd, encoding="utf-8")
        one = synthetic.experiment(synthetic.LINES)
        paper_figures.write_table(one, synthetic.measured(one), self.directory / "table.tex")
        page = (r"\documentclass{article}\usepackage{pgf,booktabs}\begin{document}"
                + "".join(rf"\input{{{part}}}" "\n\n" for part in
                          ("lines.pgf", "stacked.pgf", "odd", "table")) + r"\end{document}")
        (self.directory / "page.tex").write_text(page, encoding="utf-8")
        done = subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"],
                              cwd=self.directory, stdout=subprocess.PIPE, check=False,
                              timeout=LONGEST_SECONDS)
        self.assertEqual(done.returncode, 0, done.stdout.decode(errors="replace")[-1500:])
        self.assertGreater((self.directory / "page.pdf").stat().st_size, 10000)

    def test_without_latex_a_pgf_is_refused_in_a_sentence_that_names_the_package(self):
        with mock.patch("experiments.paper_figures.shutil.which", return_value=None):
            with self.assertRaisesRegex(Refused, "^--format=pgf needs pdflatex of Debian's package "):
                self.draw(synthetic.LINES, "quick.pgf")
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_a_table_has_a_line_for_each_point_and_its_caption_as_a_comment(self):
        one = synthetic.experiment(synthetic.LINES)
        said = paper_figures.write_table(one, synthetic.measured(one), self.directory / "quick.tex")
        lines = (self.directory / "quick.tex").read_text(encoding="utf-8").splitlines()
        self.assertTrue(lines[0].startswith("% ") and lines[0].endswith(said))
        self.assertEqual(sum(line.endswith(r" \\") for line in lines), 1 + 4 * 2 * 3)
        columns = len(re.search(r"\{([lr]+)\}$", lines[1])[1])
        self.assertEqual({line.count(" & ") + 1 for line in lines if line.endswith(r" \\")}, {columns})
        self.assertIn(r"tps & $\pm$\%", lines[3])
        self.assertIn(synthetic.MACHINE, said)


class Grey(unittest.TestCase):
    def test_lines_of_one_panel_differ_in_markers_or_dashes(self):
        for members in style.FAMILIES.values():
            series = {f"{name}, {i}": ({name}, {"pipelined"}, False)
                      for i in range(3) for name in (*members, "none")}
            found = style.in_grey(style.styles(series))
            self.assertEqual(len({(one.marker, one.hollow, str(one.dashes))
                                  for one in found.values()}), len(series))

    def test_a_drawn_line_has_the_dashes_of_its_place(self):
        figure = figure_of(synthetic.LINES)
        axes = Figure().subplots()
        marks = [mark for mark in figure.drawn if mark.panel == "ycsb"]
        plot_kinds.lines(axes, marks, figure.styles, figure.plot)
        found = looks(axes)
        self.assertEqual(len(found), 3)
        self.assertEqual(len({dashes for _, _, dashes in found}), 3)

    def test_bars_and_parts_of_a_stack_differ_in_hatches(self):
        figure = figure_of(synthetic.BARS)
        self.assertEqual(len({one.hatch for one in figure.styles.values()}), len(figure.styles))
        parts = [look["hatch"] for _, look in figure_of(synthetic.STACKED).parts.values()]
        self.assertEqual(len(set(parts)), len(parts))

    def test_figures_in_colours_keep_their_looks(self):
        found = style.styles({"centr": ({"centr"}, {"sync"}, False), "silo": ({"silo"}, {"sync"}, False)})
        self.assertEqual({(one.dashes, one.hatch) for one in found.values()}, {("-", "")})


class SeveralMachines(InADirectory):
    def files(self, *changes):
        one, paths = synthetic.experiment(synthetic.LINES), []
        for number, columns in enumerate(changes):
            path = self.directory / f"{'ab'[number]}.csv"
            store.write_rows(path, synthetic.rows(one, **columns))
            paths.append(path)
        return one, paths

    def test_each_machine_has_series_of_its_own_in_one_figure(self):
        one, paths = self.files({}, {"machine": OTHER})
        for experiment in (one, None):  # as those of a result, and as those of a sweep
            made, found, _, extras = rows_plot.beside(rows_plot.read(paths), experiment)
            self.assertEqual((made.plot["x"], made.plot["y"]), ("threads", "tps"))
            figure = paper_figures.PaperFigure(made, found, extras, "a-and-b", 2)
            self.assertEqual({", ".join(series.split(", ")[-2:]) for series in figure.styles},
                             {"AMD EPYC 7R13, 2 cores", "Intel Xeon Gold 6330, 56 cores"})
            self.assertEqual(len(figure.drawn), 2 * 4 * 2 * 3)
            self.assertEqual(figure.published, [])
        self.assertEqual(rows_plot.cautions(rows_plot.read(paths)), [])

    def test_another_revision_and_other_flags_are_said(self):
        _, paths = self.files({"given": "run --a"}, {"machine": OTHER, "revision": "9" * 12,
                                                    "given": "run --b"})
        said = " ".join(rows_plot.cautions(rows_plot.read(paths)))
        self.assertIn("revisions 0123456789ab, 999999999999", said)
        self.assertIn("other flags", said)

    def test_two_files_of_one_machine_are_told_apart_by_their_names(self):
        _, paths = self.files({}, {})
        self.assertEqual(len(set(rows_plot.names_of(rows_plot.read(paths)))), 2)

    def test_files_that_do_not_belong_together_are_refused(self):
        _, (path, _) = self.files({}, {})
        other = self.directory / "other.csv"
        store.write_rows(other, synthetic.rows(synthetic.experiment(synthetic.POINTS)))
        for paths, why in (([path, path], "given twice"), ([path, other], "different measurements"),
                           ([path, self.directory / "none.csv"], "there are no rows")):
            with self.subTest(why=why), self.assertRaisesRegex(Refused, why):
                rows_plot.read(paths)

    def test_the_command_draws_them_beside_the_first_file(self):
        _, paths = self.files({}, {"machine": OTHER})
        done = self.run_figures("plot", *paths, "--format=pdf", "--columns=2")
        self.assertIn(f"drawn: {self.directory}/a-and-b.pdf", done.stdout)
        self.assertIn("AMD EPYC 7R13, 2 cores; Intel Xeon Gold 6330, 56 cores", done.stdout)
        self.assertTrue((self.directory / "a-and-b.pdf").read_bytes().startswith(b"%PDF"))
        for words, why in (([*paths, "P5", "P6"], "at most one result"), (["P5", "--columns=2"],
                           "--columns goes with"), ([paths[0], "--all"], "--all")):
            done = self.run_figures("plot", *words, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(why, done.stderr)


if __name__ == "__main__":
    unittest.main()
