"""Tests that rounds run until intervals are narrow or the budget is spent, with a fake clock."""

import unittest
from unittest import mock

from fixtures import InADirectory, experiment, outcome

from experiments import round_loop, store, sweep
from experiments.errors import Refused

SECONDS = 60  # duration of a run


class Machine:
    """A runner whose runs take a minute each. `noise` maps a scheme to its rate's deviation."""

    def __init__(self, noise):
        self.noise, self.ran, self.now = noise, [], 0.0

    def run(self, point):
        self.ran.append(point.name)
        self.now += SECONDS
        up = 1 if self.ran.count(point.name) % 2 else -1
        return outcome(100 + up * self.noise[point.axes["log"]])


class AutoRounds(InADirectory):
    def setUp(self):
        super().setUp()
        self.points = experiment(grid=[{"axes": {"log": ["centr", "eleda"]}}]).points()
        self.rows = store.Store(self.directory / "x.csv")

    def run_on(self, machine, rounds, budget=None, rows=None):
        """Returns the number of runs of each scheme."""
        with mock.patch("experiments.round_loop.time.monotonic", lambda: machine.now):
            round_loop.Rounds(round_loop.auto_of(rounds, budget), self.points,
                               [(machine, rows or self.rows)], "tps").run("sweep",
                                                                         round_loop.Progress(0))
        return [machine.ran.count(f"log={name}") for name in ("centr", "eleda")]

    def test_narrow_points_get_three_rounds_and_others_more_until_they_are_narrow(self):
        machine = Machine({"centr": 0.1, "eleda": 5})
        centr, eleda = self.run_on(machine, "auto:5%", "9h")
        self.assertEqual(centr, 3)
        self.assertGreater(eleda, 4)
        values = round_loop.values_of(self.rows.rows, self.points[1].axes, "tps")
        self.assertTrue(round_loop.Auto(5).is_narrow(values))
        self.assertFalse(round_loop.Auto(5).is_narrow(values[:-1]))
        self.assertEqual(len(self.rows.done()), centr + eleda)

    def test_no_run_begins_that_would_end_after_the_budget(self):
        machine = Machine({"centr": 50, "eleda": 50})
        self.assertEqual(self.run_on(machine, "auto:5%"), [5, 5])
        self.assertLessEqual(machine.now, 600)

    def test_three_rounds_are_run_whatever_the_budget(self):
        self.assertEqual(self.run_on(Machine({"centr": 50, "eleda": 50}), "auto:5%", "1s"), [3, 3])

    def test_the_same_command_goes_on_where_it_stopped(self):
        self.run_on(Machine({"centr": 50, "eleda": 0.1}), "auto:5%", "1s")
        again = Machine({"centr": 50, "eleda": 0.1})
        self.assertEqual(self.run_on(again, "auto:5%", "2m", store.Store(self.rows.path)), [2, 0])

    def test_rounds_without_an_interval_are_not_narrow(self):
        for values in ([], [5.0], [0.0, 0.0, 0.0]):
            self.assertFalse(round_loop.Auto(5).is_narrow(values))


class Words(unittest.TestCase):
    def test_rounds_and_budget(self):
        for words, budget in ((["rounds=auto:5%"], 600), (["rounds=auto:2.5%", "budget=90s"], 90),
                              (["rounds=auto:5%", "budget=1.5h"], 5400)):
            rounds, auto = sweep.rounds_of(["log=centr", *words])
            self.assertEqual((rounds, auto.seconds()), (3, budget))
        self.assertEqual(sweep.rounds_of(["log=centr", "rounds=7"]), (7, None))

    def test_mistakes_are_refused(self):
        for words in (["rounds=auto"], ["rounds=auto:5"], ["rounds=auto:0%"], ["rounds=auto:.%"],
                      ["rounds=auto:5%", "budget=10"], ["rounds=auto:5%", "budget=m"],
                      ["rounds=auto:5%", "budget=0m"], ["rounds=5", "budget=10m"], ["budget=10m"]):
            with self.subTest(words=words), self.assertRaises(Refused):
                sweep.rounds_of(["log=centr", *words])
