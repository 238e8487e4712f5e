"""Tests that all tables show which rows are disturbed, unsteady or unsafe."""

import unittest
from unittest import mock

import fixtures
import synthetic
from fixtures import InADirectory, experiment, outcome, row
from matplotlib.figure import Figure

from experiments import curves, doubts, idle_watch, plot_kinds, plots, report, runner, style
from experiments import sweep, text_tables
from experiments.analysis import Measured
from experiments.definition import Point

POINTS = [("centr", 1), ("centr", 2), ("eleda", 1), ("eleda", 2)]


def rows_with(rounds=3, **columns):
    """Returns rows of all points. A list in `columns` has a column's values for the first rows."""
    rows = [row(number, 10 * number, log=log, threads=threads)
            for number in range(1, rounds + 1) for log, threads in POINTS]
    for name, values in columns.items():
        for one, value in zip(rows, values):
            one[name] = value
    return rows


def measured(**columns):
    return Measured(experiment(table={"columns": ["tps"]}), rows_with(**columns))


def printed(found):
    return fixtures.printed(text_tables.print_table, found)


class Sentences(unittest.TestCase):
    def test_each_kind_of_doubt_is_counted_under_the_table(self):
        said = printed(measured(others_pct=["64.0", "3.1", "3.0"], unsteady=["halves differ"],
                                unsafe=["async"] * 2, pipeline_full_pct=["10.1", "10"]))
        for wanted in ("2 of 12 rows ran beside other programs (column others_pct)\n",
                       "1 of 12 rows is unsteady (column unsteady says why): no check looks at them\n",
                       "2 of 12 rows are UNSAFE: a crash may lose what they acknowledged\n",
                       "1 of 12 rows waited for --pipeline_depth"):
            self.assertIn(wanted, said)
        self.assertEqual(doubts.sentences(rows_with(others_pct=["3.0"], pipeline_full_pct=["", "9"])),
                         [])

    def test_with_more_than_a_third_disturbed_nothing_is_compared(self):
        for disturbed, compared in ((4, True), (5, False)):
            said = printed(measured(others_pct=["50"] * disturbed))
            with self.subTest(disturbed=disturbed):
                self.assertEqual("no ranking by tps" in said, compared)
                self.assertEqual("5 of 12 rows ran beside other programs: no comparison\n" in said,
                                 not compared)

    def test_unsafe_points_are_named_beside_the_commit_policy(self):
        one = sweep.sweep(["commit=sync,async", "log=centr"], [])
        rows = [{**row(1, 10, commit=commit, log="centr"), "unsafe": unsafe}
                for commit, unsafe in (("sync", ""), ("async", "asynchronous"))]
        lines = [line.split() for line in printed(Measured(one, rows)).splitlines()]
        self.assertEqual(lines[0][:3], ["commit", "unsafe", "log"])
        self.assertEqual([line[:3] for line in lines[1:3]],
                         [["sync", "centr", "10"], ["async", "UNSAFE", "centr"]])
        self.assertNotIn("unsafe", printed(Measured(one, rows[:1])))

    def test_a_sweep_shows_offered_backlog_and_a_full_pipeline_where_they_matter(self):
        one = sweep.sweep(["log=centr"], [])
        plain = {**row(1, 10, log="centr"), "offered_s": "", "backlog": "", "pipeline_full_pct": "2"}
        more = {**plain, "offered_s": "20000", "backlog": "9000", "pipeline_full_pct": "11"}
        names = ("offered_s", "backlog", "pipeline_full_pct")
        columns = [list(Measured(one, [of]).table().columns) for of in (plain, more)]
        self.assertEqual([[name in shown for name in names] for shown in columns],
                         [[False] * 3, [True] * 3])


class Runs(InADirectory):
    def run_of_a_point(self, tries, others):
        binary = self.directory / "logjam"
        binary.touch()
        with runner.Runner(str(binary), self.directory, tries) as one, \
                mock.patch.object(one, "_run_once", return_value=outcome()), \
                mock.patch.object(idle_watch, "wait_until_idle"), \
                mock.patch.object(idle_watch.Watch, "others", return_value=others):
            return one.run(Point(0, {}, "run", {})).row

    def test_a_run_that_is_kept_although_others_used_the_cores_is_marked(self):
        for tries in (1, 2):
            self.assertEqual([doubts.disturbed(self.run_of_a_point(tries, others))
                              for others in (0.0, 0.5)], [False, True])

    def test_a_run_that_was_interrupted_too_often_is_marked(self):
        with mock.patch.object(idle_watch, "unusual", return_value=True):
            self.assertTrue(doubts.disturbed(self.run_of_a_point(1, 0.0)))


class Shown(InADirectory):
    def figure(self, **columns):
        one = synthetic.experiment(synthetic.LINES)
        return plots.Figure(one, synthetic.measured(one, **columns), {}, "quick")

    @staticmethod
    def grey_pixels(figure):
        return {colour: count for count, colour in figure.image().getcolors(1 << 24)}.get(
            (0xbd,) * 3, 0)

    def test_points_of_which_a_third_is_doubtful_are_hollow_and_the_foot_counts_them(self):
        for columns, word in (({"others_pct": "9"}, "beside other programs"),
                              ({"unsteady": "why"}, "are unsteady")):
            figure = self.figure(**columns)
            self.assertTrue(all(mark.doubtful for mark in figure.drawn))
            foot = " ".join(figure.said_of_rows())
            self.assertIn(word, foot)
            self.assertIn("hollow and grey, and on no line: ", foot)
            self.assertGreater(self.grey_pixels(figure), 300 + self.grey_pixels(self.figure()))
        figure = self.figure()
        self.assertFalse(any(mark.doubtful for mark in figure.drawn))
        self.assertNotIn("hollow and grey", " ".join(figure.said_of_rows()))

    def test_the_line_breaks_at_a_doubtful_point_which_is_hollow(self):
        marks = [curves.Mark("", "silo", x, "tps", 10 * x, 0, 0, 3, {}, x == 2) for x in (1, 2, 4)]
        axes = Figure().subplots()
        plot_kinds.line_through(axes, [1, 2, 4], marks, style.Style("blue", "o"))
        line, hollow = axes.lines
        self.assertEqual([str(y) for y in line.get_ydata()], ["10.0", "nan", "40.0"])
        self.assertEqual((list(hollow.get_ydata()), hollow.get_markerfacecolor()), ([20], "white"))

    def test_one_doubtful_row_of_three_makes_no_point_grey(self):
        one = synthetic.experiment(synthetic.LINES)
        rows = [{**of, "unsteady": "why" if of["round"] == "1" else ""} for of in synthetic.rows(one)]
        self.assertFalse(any(mark.doubtful for mark in curves.marks(one, Measured(one, rows))))

    def test_the_report_counts_them(self):
        one = synthetic.experiment(synthetic.LINES)
        synthetic.put(self.directory, one, others_pct="9")
        _, total = synthetic.collected(self.directory, one)
        said = "72 of 72 rows ran beside other programs: no comparison."
        self.assertIn(said, report.summary_lines(total))
        self.assertEqual(synthetic.markdown(self.directory, one).count(said), 2)
