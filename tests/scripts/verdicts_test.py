"""Tests verdicts on checks and figures, and that every check of published results can fail."""

import copy
import random
import unittest

from fixtures import ROOT, experiment, printed, row

from experiments import check_values, definition, report_data, text_tables, verdicts
from experiments.analysis import Measured
from experiments.errors import Refused
from experiments.verdicts import (FAILS, HOLDS, MISSING, OPEN, PART, PICTURE, SHAPE, UNDECIDED)

GRID = [{"axes": {"log": ["centr", "eleda"]}}]
GAIN = "ratio('tps', {'log': 'eleda'}, {'log': 'centr'})"
PLANTS = (100, 0.01, 3, 1 / 3, 0)


def gains(*of_rounds):
    """Returns rows of one round for each ratio: ELEDA's throughput divided by the baseline's."""
    return [row(number, 10 * factor, log=log) for number, gain in enumerate(of_rounds, 1)
            for log, factor in (("centr", 1), ("eleda", gain))]


def judged(check, *of_rounds):
    one = experiment(grid=GRID, check=[{"says": "so", **check}])
    return Measured(one, gains(*of_rounds)).checks()[0][1]


class OneCheck(unittest.TestCase):
    def test_a_number_holds_from_half_to_twice_the_published_one(self):
        check = {"ours": GAIN, "published": 3}
        self.assertEqual([judged(check, gain) for gain in (1.4, 1.5, 3, 6, 6.1)],
                         [FAILS, HOLDS, HOLDS, HOLDS, FAILS])

    def test_a_file_may_give_a_band_and_says_why(self):
        check = {"ours": GAIN, "published": 3, "band": [2.9, 3.1], "because": "it is exact"}
        self.assertEqual([judged(check, gain) for gain in (2.8, 3, 3.2)], [FAILS, HOLDS, FAILS])
        with self.assertRaisesRegex(Refused, "does not say, in because"):
            judged({"ours": GAIN, "published": 3, "band": [2.9, 3.1]}, 3)

    def test_a_direction_without_the_size_is_shape_only(self):
        check = {"ours": GAIN, "published": 3, "shape": "ours > 1"}
        self.assertEqual([judged(check, gain) for gain in (0.9, 1.2, 2, 40)],
                         [FAILS, SHAPE, HOLDS, SHAPE])
        check = {"holds": f"{GAIN} > 2", "shape": f"{GAIN} > 1"}
        self.assertEqual([judged(check, gain) for gain in (0.9, 1.2, 3)], [FAILS, SHAPE, HOLDS])

    def test_the_size_does_not_count_where_the_direction_is_wrong(self):
        check = {"ours": GAIN, "published": 1.2, "shape": "ours > 1"}
        self.assertEqual(judged(check, 0.8), FAILS)

    def test_rounds_on_both_sides_are_undecided_until_few_differ(self):
        check = {"holds": f"{GAIN} > 2"}
        self.assertEqual(judged(check, 3, 3, 3), HOLDS)
        self.assertEqual(judged(check, 3, 1, 3), UNDECIDED)
        self.assertEqual(judged(check, 1, 1, 3), UNDECIDED)
        self.assertEqual(judged(check, *[3] * 6, 1), UNDECIDED)
        self.assertEqual(judged(check, *[3] * 7, 1), HOLDS)
        self.assertEqual(judged(check, *[1] * 7, 3), FAILS)

    def test_our_number_stands_beside_the_published_one(self):
        one = experiment(grid=GRID)
        found = lambda *of_rounds: check_values.beside_published(
            Measured(one, gains(*of_rounds)), {"ours": GAIN, "published": 3})
        self.assertEqual(found(4), "ours 4, published 3; it holds from 1.5 to 6")
        self.assertEqual(found(12), "ours 12, published 3 (4 times more); it holds from 1.5 to 6")
        self.assertEqual(found(1), "ours 1, published 3 (3 times less); it holds from 1.5 to 6")

    def test_mistakes_in_a_check_are_refused(self):
        for fields, said in (({"says": "so"}, "needs either holds or ours"),
                             ({"says": "so", "holds": "True", "ours": "1", "published": 1},
                              "needs either holds or ours"),
                             ({"says": "so", "ours": "1"}, "do not go together"),
                             ({"says": "so", "holds": "True", "band": [1, 2]}, "not two numbers"),
                             ({"holds": "True"}, "does not say what it computes"),
                             ({"says": "so", "holds": "True", "hodls": ""}, "unknown fields: hodls")):
            with self.subTest(fields=fields), self.assertRaisesRegex(Refused, said):
                experiment(check=[fields])
        with self.assertRaisesRegex(Refused, "the cause luck"):
            experiment(cause="luck")


class Figure(unittest.TestCase):
    def test_the_verdict_is_that_of_all_checks(self):
        for found, wanted in (([HOLDS, HOLDS], HOLDS), ([], PICTURE), ([OPEN, MISSING], OPEN),
                              ([HOLDS, SHAPE], SHAPE), ([SHAPE], SHAPE), ([MISSING], MISSING),
                              ([HOLDS, FAILS], PART), ([HOLDS, OPEN], PART), ([HOLDS, MISSING], PART),
                              ([HOLDS, UNDECIDED], PART), ([FAILS, OPEN], FAILS),
                              ([SHAPE, FAILS], FAILS), ([SHAPE, OPEN], SHAPE),
                              ([UNDECIDED, OPEN], UNDECIDED)):
            with self.subTest(found=found):
                self.assertEqual(verdicts.of_figure(found), wanted)

    def test_a_note_counts_the_checks_of_each_verdict(self):
        self.assertEqual(verdicts.note([HOLDS, HOLDS]), "")
        self.assertEqual(verdicts.note([OPEN, HOLDS, FAILS, HOLDS]),
                         "2 of 4 checks hold, 1 does not hold, 1 is open")


    def test_a_badge_is_green_only_if_two_thirds_of_the_checks_passed(self):
        for found, wanted in (([HOLDS, HOLDS], HOLDS), ([HOLDS, HOLDS, FAILS], PART),
                              ([HOLDS, FAILS], UNDECIDED), ([HOLDS, *[FAILS] * 3], FAILS),
                              ([HOLDS, FAILS, *[UNDECIDED] * 2, *[OPEN] * 4], FAILS),
                              ([SHAPE, SHAPE], PART), ([SHAPE, OPEN, OPEN, OPEN], FAILS),
                              ([OPEN], OPEN), ([], PICTURE)):
            with self.subTest(found=found):
                self.assertEqual(verdicts.badge(found), wanted)

    def test_the_verdict_of_a_figure_is_said_in_a_line(self):
        one = experiment(needs_cores=4)
        for found, wanted in (([HOLDS, FAILS], "T1: holds in part: 1 of 2 checks holds, 1 does not hold"),
                              ([HOLDS, HOLDS], "T1: holds: all 2 checks"), ([], ""),
                              ([OPEN], "T1: open: needs 4 cores: its one check")):
            self.assertEqual(verdicts.line_of_figure(one, [({}, of) for of in found]), wanted)

    def test_a_verdict_on_a_check_is_not_read_as_a_word_of_the_check(self):
        one = experiment(grid=GRID, check=[{"says": "open loop: so", "holds": "True", "needs_cores": 9},
                                           {"says": "closed loop: so", "holds": "True"}])
        said = printed(text_tables.print_measured, one, Measured(one, gains(2)))
        self.assertEqual(said.splitlines()[-3:], [
            "[open: needs 9 cores] open loop: so", "[holds] closed loop: so",
            "T1: holds in part: 1 of 2 checks holds, 1 is open: needs 9 cores"])


class Drawn(Measured):
    """Random values for an experiment, to test checks that hold for no committed rows."""

    def __init__(self, experiment, seed):
        points = [*experiment.points("full"), *(experiment.points("full", simulated=True)
                                                if experiment.simulated else [])]
        experiment = copy.copy(experiment)
        experiment.columns = {}  # there are no values to compute these columns from
        super().__init__(experiment, [
            {"round": "1", **{f"axis_{axis}": definition.text(value)
                              for axis, value in point.axes.items()}} for point in points])
        self._seed = seed

    def column(self, name, axes):
        drawn = random.Random(f"{self._seed} {name} {sorted(axes.items())}")
        return {1: 10 ** drawn.uniform(-2, 5)}


class EveryCheck(unittest.TestCase):
    """A check is useless if no rows can make it fail."""

    def fails_with(self, measured, check):
        """Returns whether a check that holds can fail. Tries changes of one value that the check
        reads, of all values of a column, and of a column's values at one value of an axis."""
        asked = []
        column = measured.column

        def noted(name, axes):
            found = column(name, axes)
            ratio = measured.experiment.ratios.get(name)
            asked.append((ratio["of"] if ratio else name, tuple(sorted(axes.items()))))
            return found

        measured.column = noted
        self.assertEqual(measured.verdict_of(check), HOLDS)
        measured.column = column
        asked = list(dict.fromkeys(asked))
        together = [[one for one in asked if one[0] == name] for name in {name for name, _ in asked}]
        together += [[one for one in asked if one[0] == name and item in one[1]]
                     for name, item in dict.fromkeys((name, item) for name, axes in asked
                                                     for item in axes)]
        return any(self.with_plant(measured, check, points, factor) in (FAILS, SHAPE)
                   for points in [[one] for one in asked] + together for factor in PLANTS)

    @staticmethod
    def with_plant(measured, check, points, factor):
        """Multiplies the values at `points` (pairs of a column and axes) by `factor`. Returns the
        verdict with the changed values, and restores the values."""
        cells = [(values, name) for name, axes in points
                 for values in measured._points[axes].values() if isinstance(values.get(name), float)]
        before = [values[name] for values, name in cells]
        for values, name in cells:
            values[name] = values[name] * factor if values[name] else factor
        verdict = measured.verdict_of(check)
        for (values, name), value in zip(cells, before):
            values[name] = value
        return verdict

    def test_every_check_fails_by_rows_in_which_one_value_was_changed(self):
        for one in definition.load_all().values():
            runs = report_data.runs_of(one, ROOT / "results")
            for check in one.checks:
                found = [(run, run.measured.verdict_of(check)) for run in runs]
                if one.own or any(verdict in (FAILS, SHAPE) for _, verdict in found):
                    continue  # the check fails for committed rows
                holding = [run for run, verdict in found if verdict == HOLDS]
                with self.subTest(id=one.id, check=check["says"]):
                    self.assertTrue(
                        any(self.fails_with(run.measured, check) for run in holding) if holding else
                        any(Drawn(one, seed).verdict_of(check) in (FAILS, SHAPE) for seed in range(20)))
