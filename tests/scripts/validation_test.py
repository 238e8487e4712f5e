"""Tests the comparison of simulated rates with native rates."""

import unittest

from fixtures import experiment, row

from experiments import validation
from experiments.analysis import Measured
from experiments.errors import Refused

NATIVE = {("centr", 1): 100, ("eleda", 1): 150, ("centr", 2): 100, ("eleda", 2): 110}
TABLE = {"columns": ["tps"]}


def measured(rates, **fields):
    one = experiment(**{"table": TABLE, **fields})
    return Measured(one, [row(1, rate, log=log, threads=threads)
                          for (log, threads), rate in rates.items()])


def cells(simulated):
    return validation.cells(measured(NATIVE), measured(simulated))


class Validation(unittest.TestCase):
    def test_each_point_has_the_ratio_of_both(self):
        found = cells({("centr", 1): 110, ("eleda", 2): 55})
        self.assertEqual([(cell.axes["log"], cell.ratio, cell.near) for cell in found],
                         [("centr", 1.1, True), ("eleda", 0.5, False)])

    def test_the_share_of_near_points_is_said(self):
        said = validation.summary(cells({**NATIVE, ("centr", 2): 130}))
        self.assertIn("Of 4 points, 3 (75 %) are simulated within 20 %", said[0])
        self.assertIn("of 1 pairs of logs that differ natively by more than that, 1 rank alike",
                      said[0])

    def test_logs_that_rank_otherwise_are_named_with_both_ratios(self):
        said = validation.summary(cells({**NATIVE, ("centr", 1): 300}))
        self.assertEqual(said[1], "Not so eleda and centr at threads=1: natively 1 to 0.67, "
                                  "simulated 1 to 2.00.")

    def test_logs_that_are_natively_alike_have_no_rank(self):
        wrong, clear = validation.misranked(cells({**NATIVE, ("eleda", 2): 50}))
        self.assertEqual((wrong, clear), ([], 1))

    def test_a_rate_of_zero_is_no_reason_to_fail(self):
        found = validation.cells(measured({**NATIVE, ("centr", 2): 0}),
                                 measured({**NATIVE, ("eleda", 1): 0}))
        self.assertEqual(len(found), 3)
        self.assertIn("simulated 0 to 100", validation.summary(found)[1])

    def test_points_of_only_one_of_both_are_left_out_and_none_at_all_is_refused(self):
        self.assertEqual(len(cells({("centr", 1): 1})), 1)
        with self.assertRaises(Refused):
            cells({("silo", 1): 1})
