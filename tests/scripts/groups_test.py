"""Tests, with random rounds, that points are ranked only if the rounds can tell them apart, and that
simulated points get no order below a factor of two."""

import random
import unittest

from fixtures import experiment, row

from experiments import groups
from experiments.analysis import Measured
from experiments.text_tables import notes

AXES = {"log": ["centr", "eleda", "silo", "tide"], "threads": [1, 2]}


def drawn(draw, rounds, noise=0.1, **speeds):
    """Returns a block of points: their names, and rates near the values in `speeds`."""
    return [(name, [speed * draw.lognormvariate(0, noise) for _ in range(rounds)])
            for name, speed in speeds.items()]


def found_in(*blocks):
    return groups.Groups("log", "tps", list(blocks))


def measured(draw, rounds, **speeds):
    rows = [row(number, speeds[log] * draw.lognormvariate(0, 0.02), log=log, threads=threads)
            for number in range(1, rounds + 1) for log in AXES["log"] for threads in (1, 2)]
    return Measured(experiment(grid=[{"axes": AXES}], table={"columns": ["tps"]}), rows)


class Equals(unittest.TestCase):
    def test_of_twenty_pairs_of_equals_one_at_most_differs(self):
        draw = random.Random(1)
        for rounds in (5, 7, 10):
            pairs = (found_in(drawn(draw, rounds, centr=1, twin=1)) for _ in range(20))
            self.assertLessEqual(sum(bool(pair.apart) for pair in pairs), 1)

    def test_of_very_many_tables_of_equals_one_in_a_hundred_finds_a_difference(self):
        draw = random.Random(2)
        for schemes, rounds in ((2, 5), (4, 7), (8, 9)):
            speeds = {f"s{number}": 1 for number in range(schemes)}
            tables = (found_in(drawn(draw, rounds, **speeds)) for _ in range(100))
            with self.subTest(schemes=schemes):
                self.assertLessEqual(sum(bool(table.apart) for table in tables), 4)

    def test_a_round_that_is_slow_for_all_makes_no_difference(self):
        draw = random.Random(3)
        blocks = []
        for _ in range(200):
            phases = [draw.choice((0.7, 1)) for _ in range(6)]
            blocks.append([(name, [phase * draw.lognormvariate(0, 0.05) for phase in phases])
                           for name in ("centr", "twin")])
        self.assertLessEqual(sum(bool(found_in(block).apart) for block in blocks), 6)


class Unequals(unittest.TestCase):
    def test_a_difference_far_beyond_the_noise_is_found(self):
        draw = random.Random(4)
        for _ in range(20):
            found = found_in(drawn(draw, 6, noise=0.03, centr=1, eleda=1.3))
            self.assertEqual(found.apart, {frozenset(("centr", "eleda"))})

    def test_points_of_different_blocks_are_not_compared(self):
        found = found_in([("a", [1.0] * 9), ("b", [1.0] * 9)], [("c", [8.0] * 9)])
        self.assertEqual((found.pairs, found.apart), (1, set()))

    def test_letters_are_shared_by_what_cannot_be_told_apart(self):
        apart = {frozenset(pair) for pair in ("ac", "ad", "bd")}
        self.assertEqual(groups.alike(list("abcd"), apart), [["a", "b"], ["b", "c"], ["c", "d"]])
        self.assertEqual(groups.alike(list("abc"), set()), [["a", "b", "c"]])

    def test_the_table_has_a_letter_beside_each_scheme(self):
        table = measured(random.Random(5), 8, centr=10, eleda=20, silo=20, tide=40).table()
        of_one = table[table["threads"] == "1"]
        self.assertEqual(dict(zip(of_one["log"], of_one["alike"])),
                         {"centr": "c", "eleda": "b", "silo": "b", "tide": "a"})


class TooFew(unittest.TestCase):
    def test_rounds_that_can_tell_no_pair_apart_give_no_letters_and_a_sentence(self):
        few = measured(random.Random(6), 3, centr=10, eleda=20, silo=20, tide=40)
        self.assertNotIn("alike", few.table().columns)
        self.assertEqual(notes(few), ["no ranking by tps: 3 rounds cannot tell any of 12 pairs of log "
                                      "apart; it takes 7"])
        self.assertIn("12 pairs of log", notes(
            measured(random.Random(6), 7, centr=10, eleda=20, silo=20, tide=40))[0])

    def test_the_rounds_that_are_said_to_suffice_do_and_one_less_does_not(self):
        for pairs in (1, 6, 28, 500):
            rounds = groups.least_rounds(pairs)
            for number, can in ((rounds, True), (rounds - 1, False)):
                low, high = list(range(number)), list(range(number, 2 * number))
                block = [("a", low), ("b", high)]
                # Blocks of two equal points, which raise the number of compared pairs.
                equals = [[((i, "x"), low), ((i, "y"), low)] for i in range(pairs - 1)]
                self.assertEqual(bool(groups.differing([block, *equals])), can, (pairs, number))


class SimulatedGroups(unittest.TestCase):
    def table(self, rounds=9, column="tps"):
        """Returns the table and the notes. Each log has the same rate in all rounds."""
        rates = {"none": 1000, "silo": 100, "tide": 51, "centr-faa": 50, "eleda": 21, "centr": 20}
        rows = [{**row(number, rate, log=log, threads=threads), "log": log, "commit_p50_us": "7",
                 "machine": "simulated numa4x64, 64 cores"}
                for number in range(1, rounds + 1) for log, rate in rates.items() for threads in (1, 2)
                if (log, threads) != ("silo", 2)]
        grid = [{"axes": {"log": list(rates), "threads": [1, 2]}}]
        found = Measured(experiment(grid=grid, table={"columns": [column]}), rows)
        return found.table(), notes(found)

    def test_each_log_has_one_of_three_groups_by_the_best_log_at_equal_threads(self):
        for rounds in (1, 9):
            table, said = self.table(rounds)
            self.assertNotIn("alike", table.columns)
            self.assertIn("the model decides no order below 2 times", said[0])
            for threads, groups_of in (("1", ["", "within 2x", "within 2x", "2x to 5x", "2x to 5x",
                                              "collapsed"]),
                                       ("2", ["", "within 2x", "within 2x", "2x to 5x", "2x to 5x"])):
                self.assertEqual(list(table[table["threads"] == threads]["group"]), groups_of)

    def test_a_column_that_is_no_rate_makes_no_groups(self):
        table, said = self.table(column="commit_p50_us")
        self.assertNotIn("group", table.columns)
        self.assertEqual(said, [])
