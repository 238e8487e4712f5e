"""Tests that figures show the rows, that colours stay the same, and that all kinds are drawn."""

import pathlib
import tempfile
import unittest

import synthetic
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from PIL import Image

from experiments import curves, definition, plot_kinds, plots, style, verdicts
from experiments.analysis import Measured

MOST_BYTES = 60000


def drawn_figure(toml):
    one = synthetic.experiment(toml)
    return plots.Figure(one, synthetic.measured(one), synthetic.extras(one), "quick")


def styles_of(**series):
    return style.styles({name: ({log}, {commit}, commit == "async")
                         for name, (log, commit) in series.items()})


class Drawing(unittest.TestCase):
    def test_every_kind_is_drawn_and_a_column_without_rows_too(self):
        kinds = ("LINES", "BARS", "POINTS", "STACKED", "CDF", "TIMELINE", "DEPENDENCIES")
        for toml in (*(getattr(synthetic, kind) for kind in kinds),
                     synthetic.LINES.replace('y = "tps"', 'y = "sbl_crawls"')):
            one = synthetic.experiment(toml)
            with self.subTest(toml), tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "quick.png"
                plots.draw(one, synthetic.measured(one), path, synthetic.extras(one))
                self.assertLess(path.stat().st_size, MOST_BYTES)
                with Image.open(path) as image:
                    self.assertEqual(image.width, 1350)
                    self.assertGreater(len(image.convert("RGB").getcolors(1 << 24)), 12)


class Marks(unittest.TestCase):
    def test_a_mark_is_the_median_of_the_rounds_and_their_interval(self):
        one = synthetic.experiment(synthetic.LINES)
        found = next(mark for mark in curves.marks(one, synthetic.measured(one))
                     if (mark.panel, mark.series, mark.x) == ("ycsb", "poplar", 4.0))
        self.assertEqual((found.middle, found.rounds), (360000, 3))
        self.assertAlmostEqual(found.low, 297698, delta=1)  # 366,000 - 4.3027 * 27,495 / 1.732
        self.assertAlmostEqual(found.high, 434302, delta=1)
        self.assertEqual(found.bar, (found.low, found.high))
        wild = curves.Mark("", "", 1, "tps", 10, -40, 90, 3, {})
        self.assertEqual(wild.bar, (5, 20), "at most from half to twice the median")

    def test_x_may_be_a_column_that_older_rows_lack(self):
        one = synthetic.experiment(synthetic.LINES.replace('x = "threads"', 'x = "threads_in_all"'))
        found = curves.marks(one, synthetic.measured(one, threads_in_all="6"))
        self.assertEqual({mark.x for mark in found}, {6.0})
        self.assertEqual(curves.marks(one, synthetic.measured(one)), [])

    def test_an_axis_that_the_plot_does_not_name_is_told_apart_in_the_series(self):
        one = synthetic.experiment(synthetic.LINES.replace('panels = "workload"', ""))
        found = curves.marks(one, synthetic.measured(one))
        self.assertIn("poplar, tpcc", {mark.series for mark in found})
        self.assertEqual(len({(mark.series, mark.x) for mark in found}), len(found))

    def test_every_kind_of_panel_that_has_points_shows_their_intervals(self):
        facts = {"log": "centr", "unsafe": ""}
        marks = [curves.Mark("", "a", 2.0, "y", 30.0, 20.0, 50.0, 3, facts)]
        ends = [*marks, curves.Mark("", "a", 2.0, "z", 60.0, 50.0, 70.0, 3, facts)]
        styles = {"a": style.Style("blue", "o")}
        for kind, given, more in (("lines", marks, ()), ("points", marks, ()), ("bars", marks, ()),
                                  ("family", marks, ({"a"},)), ("ranges", ends, ())):
            with self.subTest(kind=kind):
                axes = Figure().subplots()
                getattr(plot_kinds, kind)(axes, given, styles,
                                          {"x": "n", "low_high": ["y", "z"]}, *more)
                drawn = [[tuple(end) for end in line[:, 1:].tolist()]
                         for bars in axes.collections for line in bars.get_segments()]
                self.assertIn([(20,), (50,)], drawn)

    def test_rates_without_an_order_are_shaded_where_simulated_logs_are_compared_over_threads(self):
        toml = synthetic.LINES.replace('"centr", "silo"', '"none", "centr", "silo"')
        for machine, before, after, shaded in (
                ("simulated numa4x64, 64 cores", "", "", True),
                (synthetic.MACHINE, "", "", False),
                ("simulated numa4x64, 64 cores", 'y = "tps"', 'y = "commit_p50_us"', False),
                ("simulated numa4x64, 64 cores", 'x = "threads"', 'x = "commit_p50_us"', False)):
            one = synthetic.experiment(toml.replace(before, after) if before else toml)
            figure = plots.Figure(one, synthetic.measured(one, machine=machine), {}, "full")
            with self.subTest(machine=machine, after=after):
                self.assertEqual(figure.shaded, shaded)
                self.assertEqual("shaded:" in "".join(figure.said_of_rows()), shaded)
                figure.image()
                axes = Figure().subplots()
                figure._panel(axes, "ycsb", None, False, True, True, True)
                bands = [band for band in axes.collections if isinstance(band, PolyCollection)]
                self.assertEqual(len(bands), shaded)
                for band in bands:  # Poplar is the best log
                    found = {tuple(corner) for corner in band.get_paths()[0].vertices.tolist()}
                    self.assertLessEqual({(8, 8 * 90000), (8, 4 * 90000), (1, 90000), (1, 45000)}, found)

    def test_the_thousands_are_said_once(self):
        one = synthetic.experiment(synthetic.LINES.replace('y_label = "transactions/s"',
                                                           'y_label = "throughput (1000 commits/s)"'))
        found = curves.marks(one, synthetic.measured(one, tps="70"))
        self.assertEqual({mark.middle for mark in found}, {70000})
        self.assertEqual(curves.y_labels(one.plot), "throughput (commits/s)")
        self.assertEqual(curves.published_points(one)[0]["y"][0], 300000 * 1000)

    def test_every_axis_has_a_label(self):
        for one in definition.load_all().values():
            if one.plot.get("kind") != "dependencies":
                self.assertTrue(curves.y_labels(one.plot) or curves.columns_of(one.plot), one.id)

    def test_a_way_with_another_scheme_s_name_is_called_what_it_runs(self):
        toml = synthetic.LINES.replace('log = ["centr", "silo", "poplar"]', """
[grid.axes.log]
centr = { log = "centr-faa" }
nvmd-fsync = { log = "nvmd" }
""")
        one = synthetic.experiment(toml)
        found = synthetic.measured(one)
        self.assertEqual({mark.series for mark in curves.marks(one, found)},
                         {"centr-faa", "nvmd-fsync"})
        self.assertEqual(set(found.table()["log"]), {"centr-faa", "nvmd-fsync"})
        self.assertEqual({given["series"] for given in curves.published_points(one)},
                         {"centr-faa", "poplar"})
        self.assertIn("centr-faa is what the paper calls centr", " ".join(
            plots.Figure(one, found, {}, "quick").said_of_rows()))

    def test_no_figure_calls_a_scheme_by_another_one_s_name(self):
        for one in definition.load_all().values():
            for point in one.points("full"):
                log = {**(point.prepare or {}), **point.flags}.get("log")
                said = one.name_of("log", point.axes.get("log"))
                if said in style.SCHEMES:
                    self.assertEqual(said, log, one.id)

    def test_a_number_alone_is_no_name_of_a_series(self):
        one = synthetic.experiment(synthetic.LINES.replace('series = "log"', 'series = "threads"')
                                   .replace('x = "threads"', 'x = "log"'))
        self.assertEqual(curves.label("elr", "true"), "elr true")
        self.assertIn("threads 8", {mark.series for mark in
                                    curves.marks(one, synthetic.measured(one))})

    def test_a_ratio_is_drawn_without_the_points_that_it_is_relative_to(self):
        one = synthetic.experiment(synthetic.LINES.replace('y = "tps"', 'y = "x_centr"'))
        found = curves.marks(one, synthetic.measured(one))
        self.assertEqual({mark.series for mark in found}, {"silo", "poplar"})
        self.assertEqual({mark.middle for mark in found}, {2.0, 2.25})

    def test_a_distribution_is_the_median_of_the_rounds_distributions(self):
        one = synthetic.experiment(synthetic.CDF)
        rows = [{"round": str(number), "axis_log": "centr", "fraction": str(fraction),
                 "latency_us": str(latency * number)}
                for number in (1, 2, 5) for fraction, latency in ((0.5, 10), (1, 100))]
        trace, = curves.traces(one, synthetic.measured(one), rows)
        self.assertIn((20, 0.5, 10, 50), trace.points)
        self.assertIn((200, 0.99, 100, 500), trace.points)

    def test_a_time_series_is_that_of_the_first_round(self):
        one = synthetic.experiment(synthetic.TIMELINE)
        rows = [{"round": number, "axis_log": "centr", "seconds": "0.1", "tps": tps}
                for number, tps in (("2", "20"), ("1", "10"))]
        found = curves.traces(one, synthetic.measured(one), rows)
        self.assertEqual(found[0].points, [(0.1, 10.0, None, None)])

    def test_edges_between_logs_are_drawn_and_those_within_one_are_not(self):
        one = synthetic.experiment(synthetic.DEPENDENCIES)
        rows = [{"round": number, "from_stream": "1", "from_order": "7", "to_stream": to,
                 "to_order": "9", "since": since} for number, to, since in
                (("1", "1", "0"), ("1", "2", "4"), ("1", "3", "5"), ("2", "4", "0"))]
        self.assertEqual(curves.edges(one, synthetic.measured(one), rows),
                         {"": [[7, 1, 9, 2, True], [7, 1, 9, 3, False]]})


class Styles(unittest.TestCase):
    def test_a_scheme_looks_the_same_in_every_figure(self):
        with_silo = styles_of(silo=("silo", "pipelined"), poplar=("poplar", "pipelined"))
        with_pwal = styles_of(pwal=("pwal", "pipelined"), ours=("poplar", "pipelined"))
        self.assertEqual(with_silo["poplar"], with_pwal["ours"])

    def test_no_two_schemes_look_alike(self):
        self.assertEqual(len(set(style.SCHEMES.values())), len(style.SCHEMES))

    def test_the_page_has_each_colour_on_light_and_on_dark(self):
        css = (synthetic.ROOT / "scripts/experiments/page/page.css").read_text(encoding="utf-8")
        for colour in style.COLOURS:
            self.assertEqual((colour, css.count(f"--{colour}:"), css.count(f".c-{colour} ")),
                             (colour, 2, 1))

    def test_a_new_scheme_changes_no_other(self):
        before = styles_of(silo=("silo", "pipelined"), poplar=("poplar", "pipelined"))
        after = styles_of(silo=("silo", "pipelined"), mine=("mine", "pipelined"),
                          poplar=("poplar", "pipelined"))
        self.assertEqual({name: after[name] for name in before}, before)
        self.assertEqual(after["mine"].colour, style.UNKNOWN_SCHEME)
        self.assertNotIn(style.UNKNOWN_SCHEME, {colour for colour, _ in style.SCHEMES.values()})

    def test_schemes_of_one_paper_or_family_have_different_colours(self):
        for paper in (*style.FAMILIES.values(), ("centr", "silo", "nvmd", "poplar"),
                      ("centr", "aether-c", "aether-d", "aether-cd", "aether-cde"),
                      ("centr-lockflush", "centr", "pwal"),
                      ("eleda", "eleda-crawl", "eleda-bitmap"),
                      ("aether-cd", "dlog-s", "dlog-r")):
            self.assertEqual(len({style.SCHEMES[scheme][0] for scheme in paper}), len(paper))

    def test_series_of_one_colour_differ_in_their_markers(self):
        found = styles_of(**{name: ("pwal", "pipelined") for name in "abcd"},
                          other=("centr", "pipelined"))
        of_pwal = [found[name] for name in "abcd"]
        self.assertEqual(len({one.colour for one in of_pwal}), 1)
        self.assertEqual(len({one.marker for one in of_pwal}), 4)
        self.assertEqual(of_pwal[0].marker, style.SCHEMES["pwal"][1])

    def test_series_of_one_scheme_differ_in_their_lines(self):
        found = styles_of(safe=("pwal", "pipelined"), unsafe=("pwal", "async"),
                          shared=("centr", "pipelined"))
        self.assertEqual(found["safe"].colour, found["unsafe"].colour)
        self.assertNotEqual(found["safe"].variant, found["unsafe"].variant)

    def test_commit_policies_have_colours_of_their_own_and_unsafe_ones_are_marked(self):
        found = styles_of(a=("none", "pipelined"), b=("centr", "sync"), c=("centr", "pipelined"),
                          d=("centr", "async"))
        self.assertEqual([found[name].colour for name in "abcd"],
                         ["grey", "blue", "green", "orange"])
        self.assertEqual([found[name].unsafe for name in "abcd"], [False, False, False, True])

    def test_without_any_log_the_series_differ_all_the_same(self):
        found = styles_of(two=("none", "pipelined"), eight=("none", "pipelined"))
        self.assertNotEqual(found["two"].colour, found["eight"].colour)

    def test_numbers_are_written_as_people_write_them(self):
        self.assertEqual([style.short(value) for value in (0, 0.02345, 12.34, 1234, 55250, 1.2e6)],
                         ["0", "0.0234", "12.3", "1,234", "55.2k", "1.2M"])
        self.assertEqual([style.duration(us) for us in (0.5, 90, 1300, 2e6)],
                         ["0.5 \u00b5s", "90 \u00b5s", "1.3 ms", "2 s"])


class Frame(unittest.TestCase):
    def test_points_have_their_names_and_no_legend(self):
        figure = drawn_figure(synthetic.POINTS)
        figure.image()
        (axes, marks), = figure.named
        self.assertEqual(len(marks), 5)
        self.assertLessEqual({mark.series for mark in marks},
                             {text.get_text() for text in axes.texts})
        self.assertEqual(plots.Header(figure).handles, [])

    def test_a_run_that_acknowledged_nothing_is_no_point(self):
        one = synthetic.experiment(synthetic.POINTS)
        measured = synthetic.measured(one, commit_p50_us="0")
        figure = plots.Figure(one, measured, {}, "quick")
        self.assertGreater(figure.image().width, 1000)
        self.assertEqual(figure.named[0][1], [])

    def test_empty_cells_are_no_points_and_no_zeros(self):
        for kind, column in (("LINES", "tps"), ("BARS", "commit_p50_us"), ("POINTS", "commit_p50_us"),
                             ("STACKED", "time_work_pct")):
            one = synthetic.experiment(getattr(synthetic, kind))
            log = next(point for point in one.points())
            rows = [{**row, column: ""} if all(row[f"axis_{axis}"] == value for axis, value in
                                               log.axes.items()) else row
                    for row in synthetic.rows(one)]
            with self.subTest(kind=kind):
                some = plots.Figure(one, Measured(one, rows), {}, "quick")
                every = plots.Figure(one, synthetic.measured(one), {}, "quick")
                self.assertEqual(len(some.drawn), len(every.drawn) - 1)
                self.assertGreater(some.image().width, 1000)
                none = plots.Figure(one, synthetic.measured(one, **{column: ""}), {}, "quick")
                self.assertNotIn(0, [mark.middle for mark in none.drawn])
                self.assertGreater(none.image().width, 1000)

    def test_empty_distributions_are_left_out(self):
        one = synthetic.experiment(synthetic.CDF)
        extras = [{**row, "latency_us": ""} if row["axis_log"] == "centr" else row
                  for row in synthetic.extras(one)["cdf"]]
        self.assertEqual([trace.series for trace in curves.traces(
            one, synthetic.measured(one), extras)], ["poplar"])

    def test_very_many_schemes_have_a_panel_for_each_family(self):
        logs = ["none", "centr", "aether-c", "aether-d", "aether-cd", "silo", "poplar", "pwal", "mine"]
        figure = drawn_figure(synthetic.LINES.replace('"centr", "silo", "poplar"',
                                                      ", ".join(f'"{log}"' for log in logs)))
        self.assertEqual([name for name in figure.panels if name.startswith("tpcc")],
                         [f"tpcc: {family}" for family in ("one mutex", "Aether, one buffer",
                                                           "log streams", style.OTHERS)])
        self.assertEqual(figure.families["tpcc: log streams"],
                         ("tpcc", {"none", "poplar", "pwal", "silo"}))
        self.assertGreater(figure.image().width, 1000)

    def test_many_series_of_few_schemes_are_in_one_panel(self):
        figure = drawn_figure(synthetic.LINES.replace('series = "log"', 'series = ["log", "threads"]')
                              .replace('x = "threads"', 'x = "commit_p50_us"'))
        self.assertGreater(len(figure.styles), plots.MOST_LINES)
        self.assertEqual(figure.families, {})

    def test_published_points_lie_over_ours_and_published_stacks_beside_ours(self):
        figure = drawn_figure(synthetic.LINES)
        self.assertEqual(figure.cells(), [[("ycsb", None, False), ("tpcc", None, False)]])
        axes = Figure().subplots()
        figure.ends, figure.named, figure.fits, figure.lines_of_where = [], [], 60, 1
        figure._panel(axes, "ycsb", None, False, True, True, True)
        drawn = {series: [line.get_xydata().tolist() for line in axes.lines if line.get_mfc() == face]
                 for series, face in (("published", "white"), ("poplar", style.COLOURS["green"]))}
        self.assertIn([[1, 3e5], [4, 9e5], [8, 1.3e6], [20, 1.4e6]], drawn["published"])
        self.assertIn([[1, 9e4], [2, 1.8e5], [4, 3.6e5], [8, 7.2e5]], drawn["poplar"])
        self.assertIn("published", [handle.get_label() for handle in plots.Header(figure).handles])
        stacked = drawn_figure(synthetic.STACKED)
        self.assertEqual(stacked.cells(),
                         [[("ycsb", None, True), ("ycsb", None, False), ("tpcc", None, False)]])
        grid = Figure().subplots(1, 3, squeeze=False)
        for axes, top in zip(grid[0], (75, 100, 90)):
            axes.set_ylim(0, top)
        stacked._share_scales(grid, stacked.cells())
        self.assertEqual({axes.get_ylim() for axes in grid[0]}, {(0, 100)})

    def test_an_axis_is_logarithmic_where_one_side_would_be_flat(self):
        for factor, scale in ((1, None), (0.1, "log")):
            one = synthetic.experiment(synthetic.LINES)
            for given in one.published_points:
                given["y"] = [factor * y for y in given["y"]]
            self.assertEqual(curves.y_scale(one, curves.marks(one, synthetic.measured(one))), scale)

    def test_a_latency_has_its_p99_as_a_dotted_line(self):
        one = synthetic.experiment(synthetic.LINES.replace(
            'y = "tps"', 'y = "commit_p50_us"\nlow_high = ["commit_p50_us", "commit_p99_us"]'))
        axes = Figure().subplots()
        marks = [mark for mark in curves.marks(one, synthetic.measured(one)) if mark.panel == "ycsb"]
        plot_kinds.lines(axes, marks, curves.styles_of(one, marks), one.plot)
        found = {(line.get_marker() == "None", round(line.get_ydata()[0]))
                 for line in axes.lines if line.get_color() == style.COLOURS["green"]}
        self.assertEqual(found, {(False, 240), (True, 5400)})  # 40 and 900 us a letter of the name

    def test_a_list_of_columns_is_a_row_of_panels_each(self):
        cells = drawn_figure(synthetic.BARS).cells()
        self.assertEqual([[cell[:2] for cell in row] for row in cells],
                         [[("YCSB-A", column), ("NewOrder, Payment", column)]
                          for column in ("tps", "commit_p50_us")])

    def test_both_ends_of_a_range_are_in_one_panel(self):
        plot = {"y": ["tps", "p50", "p99"], "low_high": ["p50", "p99"]}
        self.assertEqual(curves.columns_of(plot), ["tps", "p50"])

    def test_a_judged_claim_says_that_a_check_needs_more_cores(self):
        one = synthetic.experiment(synthetic.LINES)
        self.assertEqual(verdicts.words_of_figure(one, synthetic.measured(one).checks())[:2],
                         ("1 of 2 agrees", "1 not tested, needs 64 cores"))
