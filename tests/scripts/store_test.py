"""Tests that a store keeps only whole rows, no row twice, and no rows of different origins."""

import os
from unittest import mock

from fixtures import InADirectory, experiment, outcome

from experiments import round_loop, store
from experiments.errors import Refused
from experiments.runner import Outcome, PointRefused


class FakeRunner:
    """Counts its runs. Raises an error in each run whose number is in `fail_at`."""

    def __init__(self, fail_at=(), error=KeyboardInterrupt):
        self.ran, self._fail_at, self._error = [], fail_at, error

    def run(self, point):
        if len(self.ran) in self._fail_at:
            self._fail_at = ()
            raise self._error(point.name)
        self.ran.append(point.name)
        return outcome(len(self.ran))


class Rows(InADirectory):
    def setUp(self):
        super().setUp()
        self.path = self.directory / "t1" / "quick.csv"
        self.points = experiment().points()

    def run_all(self, runner, rounds=2, **more):
        rows = store.Store(self.path)
        jobs = round_loop.jobs_left(self.points, rounds, rows)
        return round_loop.run_jobs("T1", jobs, [(runner, rows)], round_loop.Progress(len(jobs)),
                                   **more)

    def test_rounds_are_interleaved(self):
        runner = FakeRunner()
        self.run_all(runner)
        names = [point.name for point in self.points]
        self.assertEqual(runner.ran, names + names)

    def test_a_stopped_run_goes_on_without_losing_or_doubling_a_row(self):
        with self.assertRaises(KeyboardInterrupt):
            self.run_all(FakeRunner(fail_at=[5]))
        self.assertEqual(len(store.Store(self.path).rows), 5)
        runner = FakeRunner()
        self.run_all(runner)
        self.assertEqual(len(runner.ran), 3)
        rows = store.Store(self.path)
        self.assertEqual(len(rows.rows), 8)
        self.assertEqual(len(rows.done()), 8)

    def test_rows_of_another_revision_binary_or_machine_are_refused(self):
        rows = store.Store(self.path)
        rows.add(self.points[0], 1, outcome())
        for column in store.ORIGIN:
            with self.subTest(column=column), self.assertRaises(Refused) as refused:
                rows.add(self.points[1], 1, outcome(**{column: "another"}))
            self.assertIn("another", str(refused.exception))
        self.assertEqual(len(store.Store(self.path).rows), 1)

    def test_rows_made_with_other_flags_are_refused(self):
        rows = store.Store(self.path)
        rows.add(self.points[0], 1, outcome())
        round_loop.jobs_left(self.points, 1, rows)
        self.points[0].flags["seed"] = 7
        with self.assertRaisesRegex(Refused, "--seed=7"):
            round_loop.jobs_left(self.points, 1, rows)

    def test_a_file_that_holds_other_things_is_refused_and_kept(self):
        self.path.parent.mkdir()
        for content in (b"a,b\n1,2\n", b"\xff\xfe\x00binary", b"hello\n", b"hello", b"\n", b"a,b"):
            with self.subTest(content=content):
                self.path.write_bytes(content)
                with self.assertRaisesRegex(Refused, "holds no rows of an experiment|is no text"):
                    store.Store(self.path)
                self.assertEqual(self.path.read_bytes(), content)

    def test_a_damaged_row_is_refused_and_kept(self):
        rows = store.Store(self.path)
        for point in self.points[:3]:
            rows.add(point, 1, outcome())
        heading, first, second, third = self.path.read_text().splitlines()
        for wrong in (second[:-20], second + ",x", "x" + second[1:], "²" + second[1:], "\0" + second):
            with self.subTest(wrong=wrong):
                content = "\n".join([heading, first, wrong, third])
                self.path.write_text(content)
                with self.assertRaisesRegex(Refused, "quick.csv is damaged: its row 2"):
                    store.Store(self.path)
                self.assertEqual(self.path.read_text(), content)

    def test_an_axis_may_have_a_word_in_place_of_a_number(self):
        rows = store.Store(self.path)
        rows.add(self.points[0], 1, outcome())
        heading, first = self.path.read_text().splitlines()
        self.path.write_text(f"axis_flush_gap_us,{heading}\nauto,{first}\n")
        self.assertEqual(store.Store(self.path).rows[0]["axis_flush_gap_us"], "auto")
        self.path.write_text(f"flush_us,{heading}\nauto,{first}\n")
        with self.assertRaisesRegex(Refused, "its row 1 has flush_us=auto, which is no number"):
            store.Store(self.path)

    def rewritten(self, change):
        """Returns the reason why a Store refuses three rows whose text `change` has changed."""
        self.path.unlink(missing_ok=True)
        rows = store.Store(self.path)
        for point in self.points[:3]:
            rows.add(point, 1, outcome())
        content = change(self.path.read_text())
        self.path.write_text(content, newline="")
        with self.assertRaises(Refused) as refused:
            store.Store(self.path)
        self.assertEqual(self.path.read_text(), content)
        return str(refused.exception)

    def test_a_cell_that_is_no_measurement_is_refused(self):
        for wrong in ("abc", "nan", "inf", "1e999", "\u0661\u0662", "1_0", " 1", "0x1", "1.0\0",
                      '"1.0\n"', "\u00b2", "--1"):
            with self.subTest(wrong=wrong):
                self.assertIn("row 1 has ", self.rewritten(
                    lambda text: text.replace(",1.0,", f",{wrong},", 1)))
        for number in ("1", "-1.5", ".5", "1e+06", "2E-3", ""):
            with self.subTest(number=number), self.assertRaisesRegex(AssertionError, "not raised"):
                self.rewritten(lambda text: text.replace(",1.0,", f",{number},", 1))

    def test_a_round_that_is_no_number_is_refused(self):
        for wrong in ("x", "\u00b2", "\u0663", "", "-1", "1.5", "9" * 5000):
            with self.subTest(wrong=wrong[:9]):
                self.assertIn("damaged: its row 3", self.rewritten(
                    lambda text: f"\n{wrong},".join(text.rsplit("\n1,", 1))))

    def test_a_torn_end_is_no_row(self):
        for cut in (1, 2, 5, 40, 60):
            with self.subTest(cut=cut):
                self.assertIn("damaged", self.rewritten(lambda text: text[:-cut]))

    def test_rows_that_do_not_say_where_they_are_from_are_refused(self):
        for column in ("revision", "machine", "binary"):
            with self.subTest(column=column):
                self.assertIn(f"without {column}", self.rewritten(
                    lambda text: text.replace(f",{column}", ",x", 1)))

    def test_rows_of_two_origins_and_columns_of_one_name_are_refused(self):
        for old, new, said in ((",abc,", ",abd,", "revision abc and of abd"),
                               (",def,", ",deg,", "binary def and of deg"),
                               ("Linux 6", "Linux 7", "machine a CPU"),
                               (",abc,", ",,", "without revision")):
            with self.subTest(said=said):
                self.assertIn(said, self.rewritten(lambda text: new.join(text.rsplit(old, 1))))
        self.assertIn("two columns have the same name", self.rewritten(
            lambda text: text.replace(",tps,", ",revision,", 1)))

    def test_the_name_of_a_file_beside_the_rows_is_no_name_for_rows(self):
        for name in ("x.cdf.csv", "x.timeline.csv", "x.dependencies.csv", "x.png"):
            with self.subTest(name=name), self.assertRaisesRegex(Refused, "is no name for rows"):
                store.Store(self.path.with_name(name))
        for name, beside in (("x.csv", "x.cdf.csv"), ("x.txt", "x.txt.cdf.csv")):
            self.assertEqual(store.Store(self.path.with_name(name)).beside("cdf").name, beside)

    def test_files_beside_the_rows_that_are_no_extra_rows_stay(self):
        rows = store.Store(self.path.with_name("q*.csv"))
        rows.add(self.points[0], 1, outcome())
        others = [self.path.with_name(name) for name in ("q*.notes.csv", "quick.cdf.csv")]
        for path in others:
            path.write_text("precious")
        store.Store(rows.path).remove()
        self.assertEqual(sorted(self.path.parent.iterdir()), sorted(others))

    def test_a_planted_file_of_extra_rows_or_unfinished_rows_leads_nowhere(self):
        victim = self.directory / "victim"
        victim.write_text("precious")
        rows = store.Store(self.path)
        rows.add(self.points[0], 1, outcome())
        self.path.with_name("quick.csv.partial").symlink_to(victim)
        rows.add(self.points[1], 1, outcome())
        rows.beside("cdf").symlink_to(victim)
        with self.assertRaisesRegex(Refused, "quick.cdf.csv is a link"):
            rows.add(self.points[2], 1, Outcome(outcome().row, {"cdf": [{"fraction": "1"}]}))
        self.assertEqual(victim.read_text(), "precious")

    def test_a_doubled_row_is_refused(self):
        rows = store.Store(self.path)
        rows.add(self.points[0], 1, outcome())
        rows.add(self.points[0], 1, outcome())
        with self.assertRaises(Refused):
            store.Store(self.path)

    def test_rows_with_more_columns_come_later(self):
        rows = store.Store(self.path)
        rows.add(self.points[0], 1, outcome())
        rows.add(self.points[1], 1, outcome(more="1"))
        read = store.Store(self.path).rows
        self.assertEqual([row["more"] for row in read], ["", "1"])

    def test_extra_rows_lie_beside_with_the_same_axes(self):
        rows = store.Store(self.path)
        rows.add(self.points[0], 1, Outcome(outcome().row, {"cdf": [{"fraction": "1"}]}))
        again = store.Store(self.path)
        self.assertEqual(again.extras["cdf"], [
            {"round": "1", "axis_log": "centr", "axis_threads": "1", "fraction": "1"}])
        again.remove()
        self.assertEqual(list(self.path.parent.iterdir()), [])

    def test_extra_rows_of_a_run_that_was_killed_before_its_row_do_not_come_twice(self):
        made = Outcome(outcome().row, {"cdf": [{"fraction": "1"}]})
        rows, rename = store.Store(self.path), os.replace

        def replace(source, target):
            if target == self.path:
                raise KeyboardInterrupt
            rename(source, target)

        with mock.patch("experiments.files.os.replace", replace):
            with self.assertRaises(KeyboardInterrupt):
                rows.add(self.points[0], 1, made)
        store.Store(self.path).add(self.points[0], 1, made)
        self.assertEqual(len(store.Store(self.path).extras["cdf"]), 1)

    def test_of_rows_that_are_added_together_all_come_or_none(self):
        rows = store.Store(self.path)
        with self.assertRaises(Refused):
            rows.add_all([(self.points[0], 1, outcome()),
                          (self.points[1], 1, outcome(machine="b"))])
        self.assertEqual((rows.rows, store.Store(self.path).rows), ([], []))
        rows.add_all([(point, 1, outcome()) for point in self.points])
        self.assertEqual(len(store.Store(self.path).rows), 4)

    def test_a_sweep_leaves_out_what_logjam_refuses_and_says_so(self):
        refused = self.run_all(FakeRunner(fail_at=[1], error=PointRefused), skip_refused=True)
        self.assertEqual(list(refused), ["log=centr threads=2"])
        self.assertEqual(len(store.Store(self.path).rows), 6)

    def test_a_sweep_leaves_out_a_point_of_an_axis_without_effect_after_its_first_run(self):
        runner = FakeRunner()
        runner.run = mock.Mock(side_effect=lambda point: outcome(
            1, without_effect="--seed (of --log=x, y), --threads (of workload x)"
            if point.axes["log"] == "eleda" else "--thread, --seed (of --threads=1)"))
        refused = self.run_all(runner, skip_refused=True)
        why = "--threads (of workload x) has no effect here"
        self.assertEqual(refused, {f"log=eleda threads={count}": why for count in (1, 2)})
        self.assertEqual(runner.run.call_count, 6)
        self.assertEqual({row["axis_log"] for row in store.Store(self.path).rows}, {"centr"})

    def test_an_experiment_keeps_a_point_whatever_its_flags_do(self):
        runner = FakeRunner()
        runner.run = lambda point: outcome(1, without_effect="--threads")
        self.run_all(runner)
        self.assertEqual(len(store.Store(self.path).rows), 8)

    def test_a_budget_ends_a_run_after_a_whole_round(self):
        runner = FakeRunner()
        self.run_all(runner, rounds=9, budget=1e-9)
        self.assertEqual(len(runner.ran), 4)

    def test_a_second_binary_has_rows_of_its_own_in_turn(self):
        ours, theirs = store.Store(self.path), store.Store(self.directory / "other.csv")
        jobs = round_loop.jobs_left(self.points, 1, ours)
        runners = FakeRunner(), FakeRunner()
        round_loop.run_jobs("T1", jobs, list(zip(runners, (ours, theirs))), round_loop.Progress(4))
        self.assertEqual(runners[0].ran, runners[1].ran)
        self.assertEqual(ours.done(), theirs.done())
