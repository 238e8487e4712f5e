"""Tests the comparison of simulated rates with native rates, and the order of published curves."""

import subprocess
import unittest

from fixtures import ROOT, experiment, row

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

    def test_pairs_that_rank_alike_are_counted_by_their_ratio(self):
        rates = {("centr", 1): 100, ("eleda", 1): 130, ("centr", 2): 100, ("eleda", 2): 210}
        found = validation.cells(measured(rates), measured({**rates, ("eleda", 1): 50}))
        self.assertEqual(validation.by_band(found),
                         "2 and more times: 1 of 2")

    def test_a_rate_of_zero_is_no_reason_to_fail(self):
        found = validation.cells(measured({**NATIVE, ("centr", 2): 0}),
                                 measured({**NATIVE, ("eleda", 1): 0}))
        self.assertEqual(len(found), 3)
        self.assertIn("simulated 0 to 100", validation.summary(found)[1])

    def test_points_of_only_one_of_both_are_left_out_and_none_at_all_is_refused(self):
        self.assertEqual(len(cells({("centr", 1): 1})), 1)
        with self.assertRaises(Refused):
            cells({("silo", 1): 1})


def line_of(published, simulated, **others):
    """Returns the lines of two curves with these rates. `others`: what differs in the second curve."""
    one = {"machine": "m", "figure": "4", "lines": "1", "threads": "8"}
    points = [({**one, **more, "published": str(of)}, float(rate))
              for of, rate, more in zip(published, simulated, ({}, others))]
    return validation.order(points, lambda point: ("all",))


class Order(unittest.TestCase):
    def test_a_pair_counts_by_the_simulated_ratio_and_is_right_if_the_published_order_is_the_same(self):
        for published, simulated, band, right, clear in (
                ((1, 2), (1, 3), "2 and more", 1, 1),
                ((2, 1), (1, 3), "2 and more", 0, 1),
                ((2, 1), (6, 4), "1.5 to 2", 1, 1),    # the least ratio of a band is in the band
                ((1, 1), (1, 1.3), "1.2 to 1.5", 0, 0),  # equal published rates
                ((1, 1.19), (1, 1.1), "1.05 to 1.2", 1, 0)):
            with self.subTest(published=published, simulated=simulated):
                (name, found, pairs, *counts, _, _, _, clears, _), = line_of(published, simulated)
                self.assertEqual((name, found, pairs, counts, clears),
                                 ("all", band, 1, [right, 1 - right], clear))
        self.assertEqual(line_of((1, 9), (1, 1.04)), [])

    def test_only_curves_of_one_figure_and_machine_are_alternatives_at_equal_threads(self):
        for name in ("machine", "figure", "lines", "threads"):
            self.assertEqual(line_of((1, 2), (1, 2), **{name: "other"}), [], name)
        self.assertEqual(len(line_of((1, 2), (1, 2), curve="other")), 1)

    def test_the_interval_is_wilsons_of_as_many_pairs_as_are_independent(self):
        for share, number, interval in ((0.5, 10, (0.237, 0.763)), (1, 10, (0.722, 1)),
                                        (0.9, 100, (0.826, 0.945))):
            for ours, known in zip(validation.wilson(share, number), interval):
                self.assertAlmostEqual(ours, known, 3)
        alone, alike = [[True], [False]] * 50, [[True] * 10, [False] * 10] * 50
        for groups, least, most in ((alone, 98, 100), (alike, 98, 100), ([[True] * 9] * 7, 7, 7),
                                    ([[True, False] * 5] * 7, 7, 7), ([[True, False]], 1, 1)):
            self.assertTrue(least <= validation.independent(groups) <= most, groups[:2])

    def test_the_page_begins_with_the_table_that_the_script_prints(self):
        done = subprocess.run(
            [ROOT / "scripts/holdout.py", "--judge", *sorted(ROOT.glob("results/holdout/d*-model10.csv"))],
            stdout=subprocess.PIPE, text=True, check=True)
        page = (ROOT / "docs/VALIDATION.md").read_text()
        lines = [line.rsplit(maxsplit=8) for line in done.stdout.partition("\n\n")[0].splitlines()[1:]]
        machines = {}
        for name, pairs, right, _, share, low, high, clear, clear_right in lines:
            of, band = map(str.strip, name.split("  ", maxsplit=1))
            if (ROOT / f"config/machines/{of}.toml").exists():
                machines.setdefault(of, {})[band] = f"{right} of {pairs}"
                continue
            self.assertTrue(f"| {of} | {band} | {right} of {pairs} | {share} ({low} to {high}) | "
                            f"{clear_right} of {clear} |" in page, (of, band))
        self.assertEqual(len(machines), 6)
        for of, bands in machines.items():
            cells = [bands.get(band, "\u2013") for band in reversed(list(validation.BANDS))]
            self.assertTrue(f"| `{of}` | {' | '.join(cells)} |" in page, of)
