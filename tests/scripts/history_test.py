"""Tests the history of revisions: its file, the rule that finds changes, and how often the rule errs."""

import math
import random
import statistics
import sys
from unittest import mock

from fixtures import ROOT, InADirectory

sys.path.insert(0, str(ROOT / "scripts"))
import history_errors  # noqa: E402 (found in scripts/)
from experiments import changes, definition, files, history, store  # noqa: E402
from experiments.errors import Refused  # noqa: E402
from experiments.runner import Outcome  # noqa: E402

POINTS = ("workload=ycsb log=none", "workload=ycsb log=centr", "workload=tpcc log=centr")
MACHINE = "a CPU, 2 cores, Linux 6"


def series(*steps, count=30, noise=0.01, seed=1):
    """Returns series of POINTS. Each step is (point, revision, logarithm of the change)."""
    draw = random.Random(seed)
    return {point: [draw.gauss(0, noise) + sum(by for of, at, by in steps if of == point and i >= at)
                    for i in range(count)] for point in POINTS}


def found(*steps, **how):
    return [(change.series, change.index) for change in changes.find(series(*steps, **how))]


class Changes(InADirectory):
    def test_a_step_is_found_at_its_revision_with_its_size(self):
        slower = math.log(0.9)
        (one,) = [change for change in changes.find(series((POINTS[1], 17, slower)))
                  if change.series != changes.ALL]
        self.assertEqual((one.series, one.index), (POINTS[1], 17))
        self.assertAlmostEqual(one.ratio, 0.9, delta=0.02)

    def test_two_steps_of_one_point_are_two_changes(self):
        steps = ((POINTS[0], 10, -0.1), (POINTS[0], 20, 0.1))
        self.assertEqual([one for one in found(*steps) if one[0] == POINTS[0]],
                         [(POINTS[0], 10), (POINTS[0], 20)])

    def test_a_change_of_all_points_is_a_change_of_their_mean(self):
        self.assertIn((changes.ALL, 15), found(*((point, 15, -0.06) for point in POINTS)))

    def test_small_steps_single_odd_revisions_and_short_histories_are_no_changes(self):
        self.assertEqual(found((POINTS[0], 15, -0.02), noise=0.0001), [])
        self.assertEqual(found((POINTS[0], 15, -0.3), (POINTS[0], 16, 0.3)), [])
        self.assertEqual(found((POINTS[0], 29, -0.3)), [])
        self.assertEqual(found((POINTS[0], 4, -0.3), count=changes.FEWEST - 1), [])

    def test_the_size_of_the_noise_decides(self):
        step = (POINTS[2], 15, -0.06)
        self.assertIn((POINTS[2], 15), found(step, noise=0.005))
        self.assertEqual(found(step, noise=0.08), [])


class Errors(InADirectory):
    """The noise has the size of this project's machine, and outliers; docs/EXPERIMENTS.md has the
    errors of more histories, which scripts/history_errors.py measures."""

    def machines(self, count):
        draw = random.Random(3)
        noise = [draw.gauss(0, 0.06) * (3 if draw.random() < 0.05 else 1) for _ in range(500)]
        points = [point.name for point in definition.find(history.ID).points("quick")]
        return [history_errors.Machine(noise, points, 10, 0.005, seed) for seed in range(count)]

    def test_unchanged_histories_of_a_hundred_revisions_seldom_have_a_change(self):
        alarms = [history_errors.false_alarm(one, 100) for one in self.machines(60)]
        self.assertLessEqual(sum(after is not None for after in alarms), 6)

    def test_a_slow_down_of_five_percent_is_found(self):
        slow = math.log(0.95)
        for most, names in ((15, slice(-1, None)), (3, slice(None))):
            late = [history_errors.found_after(one, 20, dict.fromkeys(one.points[names], slow), 60) or 60
                    for one in self.machines(20)]
            self.assertLessEqual(statistics.median(late), most)

    def test_the_noise_of_the_script_is_that_of_rows_without_doubt(self):
        path = self.directory / "x.csv"
        store.write_rows(path, [{"round": str(number), "axis_log": log, "tps": str(tps),
                                 "disturbed": str(disturbed).lower()}
                                for log, number, tps, disturbed in (
                                    ("a", 1, 100, False), ("a", 2, 110, False), ("a", 3, 900, True),
                                    ("b", 2, 50, False), ("b", 3, 40, False), ("a", 4, 1, False))])
        self.assertEqual([round(math.exp(one), 3) for one in history_errors.noise_of(path)], [1.1, 0.8])


class Lines(InADirectory):
    def setUp(self):
        super().setUp()
        self.path = self.directory / "history.csv"

    def put(self, ratios, **columns):
        for number, ratio in enumerate(ratios):
            files.append_row(self.path, {
                "revision": f"{number:012x}", "began": "", "machine": MACHINE, "reference": "feed",
                "rounds": "10", **columns, **{point: f"{ratio:.4f}" for point in POINTS}})

    def test_the_command_shows_where_the_rates_changed_and_draws_them(self):
        self.put([1.0, 1.01, 0.99, 1.0, 1.01, 0.99, 1.0, 1.0, 0.9, 0.91, 0.9])
        done = self.run_figures("history", f"--results={self.directory}")
        self.assertRegex(done.stdout, r"all points: 0\.9\d\d of before since 000000000008 \(line 9 of 11")
        self.assertTrue((self.directory / "history.png").is_file())

    def test_without_a_line_or_with_a_file_of_another_kind_the_command_is_refused(self):
        done = self.run_figures("history", f"--results={self.directory}", check=False)
        self.assertIn("figures.py history --beside=BINARY adds one", done.stderr)
        self.put([1.0])
        self.put([1.0], machine="another")
        for text, why in ((self.path.read_text(), "more than one machine"), ("a,b\n1,2\n", "no history"),
                          (self.path.read_text().replace("1.0000", "x"), "no history")):
            self.path.write_text(text)
            with self.assertRaisesRegex(Refused, why):
                history.read(self.path)

    def test_a_line_has_the_typical_ratio_of_the_rounds(self):
        rows = {name: [{"round": str(number), "axis_log": "centr", "tps": str(tps), "began": "now",
                        "revision": "abc", "binary": name, "machine": MACHINE}
                       for number, tps in enumerate(rates, 1)]
                for name, rates in (("ours", [90, 91, 89, 90, 5]), ("other", [100, 100, 100, 100, 100]))}
        experiment = definition.Experiment({"id": "x", "title": "x", "claim": "x",
                                            "grid": [{"axes": {"log": ["centr"]}}]}, "x")
        line = history.line_of(rows["ours"], rows["other"], experiment)
        self.assertEqual((line["log=centr"], line["reference"], line["rounds"]), ("0.8967", "other", "5"))

    def programs(self, revision):
        for name, of in (("ours", revision), ("reference", "zzz")):
            path = self.directory / name
            path.write_text(f"#!/bin/sh\necho logjam version 1 revision {of}\n")
            path.chmod(0o755)
        return mock.Mock(logjam=str(self.directory / "ours"), beside=str(self.directory / "reference"),
                         wal_dir=str(self.directory), tries=1, results=str(self.directory))

    def measure(self, revision, disturbed="false", machine=MACHINE):
        def run_jobs(_, jobs, pairs, progress):
            for number, point in jobs:
                for (runner, rows), tps in zip(pairs, (95, 100)):
                    rows.add(point, number, Outcome({
                        "tps": str(tps), "revision": revision, "machine": machine, "began": "now",
                        "binary": runner.binary, "disturbed": disturbed}, {}))
        with mock.patch("experiments.history.round_loop.run_jobs", run_jobs):
            return history.measure(self.programs(revision), self.path, history.read(self.path))

    def test_a_revision_is_measured_once_and_its_rows_stay(self):
        for revision in ("aaa", "bbb", "bbb"):
            self.measure(revision)
        lines = history.read(self.path)
        self.assertEqual([line["revision"] for line in lines], ["aaa", "bbb"])
        points = definition.find(history.ID).points("quick")
        self.assertEqual([lines[0][point.name] for point in points], ["0.9500"] * len(points))
        self.assertEqual(len(store.Store(self.directory / "aaa" / "ours.csv").rows), 10 * len(points))

    def test_what_cannot_be_compared_adds_no_line(self):
        self.measure("aaa")
        for how, why in (({"revision": "bbb-dirty"}, "commit, and build again"),
                         ({"revision": "ccc", "disturbed": "true"}, "no line is added"),
                         ({"revision": "ddd", "machine": "another"}, "is of a CPU")):
            with self.assertRaisesRegex(Refused, why):
                self.measure(**how)
        with mock.patch("experiments.history.runner.digest", return_value="cafe"):
            with self.assertRaisesRegex(Refused, "name the same binary"):
                self.measure("eee")
        self.assertEqual(len(history.read(self.path)), 1)
