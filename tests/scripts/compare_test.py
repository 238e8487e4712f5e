"""Tests, with random rows, that the command `compare` finds known changes and reports no noise."""

import random
import re
import types
import unittest
from unittest import mock

from fixtures import InADirectory, experiment, printed, row

from experiments import definition, store
from experiments.analysis import Measured
from experiments.compare import compare, in_turn, print_moved
from experiments.errors import Refused

AXES = {"log": ["centr", "eleda", "poplar"], "threads": [1, 2]}


def drawn(draw, factor=1.0, noise=0.02, rounds=5, only=None):
    """Returns noisy rows of all points. `factor` applies to the log `only`; None: to all logs."""
    return [row(number, 1000 * threads * draw.lognormvariate(0, noise)
                * (factor if only in (None, log) else 1), log=log, threads=threads)
            for number in range(1, rounds + 1)
            for log in AXES["log"] for threads in AXES["threads"]]


def moved(old, new, apart=False, count=1):
    one = experiment(grid=[{"axes": AXES}])
    return compare(Measured(one, old), Measured(one, new), apart, count)


class Compare(unittest.TestCase):
    def test_equals_give_hardly_a_false_alarm(self):
        draw = random.Random(1)
        alarms = sum(bool(moved(drawn(draw, noise=noise), drawn(draw, noise=noise)))
                     for noise in (0.005, 0.02, 0.1) for _ in range(100))
        self.assertLessEqual(alarms, 6)  # 300 comparisons, each with a risk of 0.01

    def test_many_equals_at_once_give_hardly_a_false_alarm(self):
        draw = random.Random(7)
        pairs = [(drawn(draw, noise=0.1), drawn(draw, noise=0.1)) for _ in range(200)]
        together, alone = (sum(bool(moved(*pair, count=count)) for pair in pairs)
                           for count in (40, 1))
        self.assertEqual(together, 0)  # each of the 5 sets of 40 experiments has the risk 0.01
        self.assertGreater(alone, 0, "these draws do not tell 40 experiments from one")

    def test_a_slow_down_of_a_tenth_is_found(self):
        draw = random.Random(2)
        for apart in (False, True):
            found = [moved(drawn(draw), drawn(draw, factor=0.9), apart) for _ in range(20)]
            self.assertTrue(all(any(one.where == "all points" for one in each) for each in found))
            self.assertFalse(any(one.better for each in found for one in each))

    def test_a_slow_down_of_one_scheme_is_found_at_its_points_and_at_no_others(self):
        draw = random.Random(3)
        for _ in range(20):
            found = moved(drawn(draw), drawn(draw, factor=0.85, only="eleda"))
            self.assertEqual({one.where for one in found} - {"all points"},
                             {"log=eleda threads=1", "log=eleda threads=2"})

    def test_a_slow_down_of_a_tenth_is_found_in_the_noise_of_a_virtual_machine(self):
        draw = random.Random(6)
        for _ in range(20):
            old, new = (drawn(draw, factor, noise=0.1, rounds=20) for factor in (1, 0.9))
            self.assertIn("all points", {one.where for one in moved(old, new)})

    def test_drift_between_two_measurements_one_after_the_other_is_no_change(self):
        draw = random.Random(4)
        self.assertFalse(moved(drawn(draw, noise=0.01), drawn(draw, 0.95, noise=0.01), apart=True))
        self.assertTrue(moved(drawn(draw, noise=0.005), drawn(draw, 0.95, noise=0.005)))

    def test_in_turn_means_that_the_times_overlap(self):
        def at(*times):
            return [{"began": time} for time in times]
        self.assertTrue(in_turn(at("1", "3"), at("2", "4")))
        self.assertFalse(in_turn(at("1", "2"), at("3", "4")))
        self.assertFalse(in_turn(at("1"), [{"began": ""}]))

    def test_two_rounds_are_too_few(self):
        draw = random.Random(5)
        with self.assertRaises(Refused):
            moved(drawn(draw, rounds=2), drawn(draw, rounds=2))


class CompareFolders(InADirectory):
    def test_the_risk_is_shared_by_all_experiments_of_two_folders(self):
        draw = random.Random(7)
        pairs = ((drawn(draw, noise=0.1), drawn(draw, noise=0.1)) for _ in range(1000))
        alarming = next(pair for pair in pairs if moved(*pair) and not moved(*pair, count=40))
        self.assertGreater(self.changes_in(1, alarming), 0)
        self.assertNotIn("other programs", self.said)
        self.assertEqual(self.changes_in(40, alarming), 0)

    def test_disturbed_rows_are_counted(self):
        rows = drawn(random.Random(1))
        self.changes_in(1, (rows, [{**one, "others_pct": "50"} for one in rows]))
        self.assertIn("30 of 60 rows ran beside other programs: no comparison\n", self.said)

    def changes_in(self, count, pair):
        """Returns the number of reported changes between two folders with `count` experiments. Each
        experiment has the rows `pair[0]` in the old folder, and `pair[1]` in the new one."""
        all_of_them = {f"T{number}": experiment(id=f"T{number}", grid=[{"axes": AXES}])
                       for number in range(count)}
        for name in all_of_them:
            for folder, rows in zip(("old", "new"), pair):
                path = self.directory / folder / name.lower() / "small.csv"
                path.parent.mkdir(parents=True, exist_ok=True)
                # Both folders have the same start times, so their runs count as interleaved.
                store.write_rows(path, [{**one, "began": one["round"]} for one in rows])
        args = types.SimpleNamespace(old=self.directory / "old", new=self.directory / "new",
                                     size="small")
        with mock.patch.object(definition, "load_all", return_value=all_of_them):
            self.said = printed(print_moved, args)
        return int(re.search(rf"^(\d+) changes in {count} ", self.said, re.MULTILINE)[1])
