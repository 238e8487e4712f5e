"""Tests verdicts on checks, their counts, and that every check of published results can fail."""

import copy
import random
import unittest

from fixtures import ROOT, experiment, printed, row

from experiments import check_values, definition, report_data, text_tables, verdicts
from experiments.analysis import Measured
from experiments.errors import Refused
from experiments.verdicts import (AGREEING, AGREES, DEVICE, DIRECTION, DISAGREES, MISSING, OPEN,
                                  PICTURE, UNDECIDED, UNTESTED)

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
    def test_a_number_is_judged_by_its_distance_and_its_direction(self):
        up = {"shape": "ours > 1"}
        own = {"band": [2.9, 3.1], "because": "it is exact"}
        for fields, gains_and_verdicts in (
                ({}, {1.4: DISAGREES, 1.5: AGREES, 3: AGREES, 6: AGREES, 6.1: DISAGREES}),
                (up, {0.5: DISAGREES, 0.9: DISAGREES, 1.2: DIRECTION, 2: AGREES, 6: AGREES,
                      6.1: DIRECTION, 15: DIRECTION, 15.1: DISAGREES, 900: DISAGREES}),
                ({"published": 9, **up}, {1.7: DISAGREES, 1.8: DIRECTION, 45: DIRECTION}),
                ({"published": 1.2, **up}, {0.8: DISAGREES}),
                ({"shape": "ours > 0"}, {0.5: DISAGREES, 0.6: DIRECTION}),
                (own, {2.8: DISAGREES, 3: AGREES, 3.2: DISAGREES}),
                ({**own, **up}, {2.8: DIRECTION, 3: AGREES, 15.1: DISAGREES}),
                ({"band": [1, 40], "because": "a range", **up}, {30: AGREES, 41: DISAGREES}),
                ({"device_bound": "twice", **up}, {3: DEVICE, 9: DIRECTION, 0.9: DISAGREES})):
            for gain, wanted in gains_and_verdicts.items():
                with self.subTest(fields=fields, gain=gain):
                    self.assertEqual(judged({"ours": GAIN, "published": 3, **fields}, gain), wanted)

    def test_a_sentence_is_judged_by_its_words_and_its_direction(self):
        holds = {"holds": f"{GAIN} > 2"}
        for fields, gains_and_verdicts in (
                (holds, {0.9: DISAGREES, 1.2: DISAGREES, 3: AGREES}),
                ({**holds, "shape": f"{GAIN} > 1"}, {0.9: DISAGREES, 1.2: DIRECTION, 3: AGREES}),
                ({**holds, "device_bound": "twice"}, {1.2: DISAGREES, 3: DEVICE})):
            for gain, wanted in gains_and_verdicts.items():
                with self.subTest(fields=fields, gain=gain):
                    self.assertEqual(judged(fields, gain), wanted)

    def test_rounds_on_both_sides_are_undecided_until_few_differ(self):
        for of_rounds, wanted in (((3, 3, 3), AGREES), ((3, 1, 3), UNDECIDED),
                                  ((1, 1, 3), UNDECIDED), ((*[3] * 6, 1), UNDECIDED),
                                  ((*[3] * 7, 1), AGREES), ((*[1] * 7, 3), DISAGREES)):
            with self.subTest(of_rounds=of_rounds):
                self.assertEqual(judged({"holds": f"{GAIN} > 2"}, *of_rounds), wanted)

    def test_our_number_stands_beside_the_published_one(self):
        one = experiment(grid=GRID)
        for gain, more, wanted in (
                (4, {}, "ours 4, published 3; it agrees from 1.5 to 6"),
                (12, {}, "ours 12, published 3 (4 times more); it agrees from 1.5 to 6"),
                (1, {}, "ours 1, published 3 (3 times less); it agrees from 1.5 to 6"),
                (4, {"derived": "6 / 2"},
                 "ours 4, published 3 (derived: 6 / 2); it agrees from 1.5 to 6")):
            check, measured = {"ours": GAIN, "published": 3, **more}, Measured(one, gains(gain))
            self.assertEqual(check_values.beside_published(measured, check), wanted)

    def test_mistakes_in_a_check_are_refused(self):
        for fields, said in (({"says": "so"}, "needs either holds or ours"),
                             ({"says": "so", "holds": "True", "ours": "1", "published": 1},
                              "needs either holds or ours"),
                             ({"says": "so", "ours": "1"}, "do not go together"),
                             ({"says": "so", "holds": "True", "band": [1, 2]}, "not two numbers"),
                             ({"says": "so", "ours": "1", "published": 1, "band": [1, 2]},
                              "does not say, in because"),
                             ({"says": "so", "holds": "True", "derived": "so"}, "nothing published"),
                             ({"says": "so", "holds": "True", "cause": "luck"}, "the cause luck"),
                             ({"holds": "True"}, "does not say what it computes"),
                             ({"says": "so", "holds": "True", "hodls": ""}, "unknown fields: hodls")):
            with self.subTest(fields=fields), self.assertRaisesRegex(Refused, said):
                experiment(check=[fields])
        with self.assertRaisesRegex(Refused, "the cause luck"):
            experiment(cause="luck")


class Result(unittest.TestCase):
    def test_a_result_has_the_counts_of_its_checks(self):
        for found, words, note, badge in (
                ([], PICTURE, "", PICTURE),
                ([AGREES, AGREES], "2 of 2 agree", "", AGREES),
                ([AGREES, AGREES, DISAGREES], "2 of 3 agree", "1 disagrees", AGREES),
                ([AGREES, DIRECTION], "1 of 2 agrees", "1 direction only", DIRECTION),
                ([DIRECTION, DIRECTION], "0 of 2 agree", "2 direction only", DISAGREES),
                ([AGREES, *[DISAGREES] * 7], "1 of 8 agrees", "7 disagree", DISAGREES),
                ([DEVICE, DEVICE], "2 by a device's formula", "", DEVICE),
                ([DEVICE, DISAGREES], "0 of 2 agree", "1 disagrees, 1 by a device's formula",
                 DISAGREES),
                ([DEVICE, AGREES], "1 of 2 agrees", "1 by a device's formula", AGREES),
                ([DEVICE, OPEN], "0 of 2 agree", "1 not tested, 1 by a device's formula", DEVICE),
                ([AGREES, OPEN], "1 of 2 agrees", "1 not tested", AGREES),
                ([AGREES, OPEN, UNDECIDED], UNTESTED, "1 agrees, 2 not tested", UNTESTED),
                ([MISSING], UNTESTED, "1 not tested", UNTESTED)):
            with self.subTest(found=found):
                self.assertEqual([said(found) for said in (verdicts.words, verdicts.note,
                                                           verdicts.badge)], [words, note, badge])

    def test_the_verdict_of_a_result_is_said_in_a_line(self):
        one = experiment(needs_cores=4)
        for found, wanted in (([AGREES, DISAGREES], "T1: 1 of 2 agrees: 1 disagrees"),
                              ([AGREES, AGREES], "T1: 2 of 2 agree"), ([], ""),
                              ([OPEN], "T1: not tested: 1 not tested, needs 4 cores")):
            self.assertEqual(verdicts.line_of_figure(one, [({}, of) for of in found]), wanted)

    def test_a_verdict_on_a_check_is_not_read_as_a_word_of_the_check(self):
        one = experiment(grid=GRID, check=[{"says": "open loop: so", "holds": "True", "needs_cores": 9},
                                           {"says": "closed loop: so", "holds": "True"}])
        said = printed(text_tables.print_measured, one, Measured(one, gains(2)))
        self.assertEqual(said.splitlines()[-3:], [
            "[not tested: too few cores, needs 9] open loop: so", "[agrees] closed loop: so",
            "T1: 1 of 2 agrees: 1 not tested, needs 9 cores"])


class Drawn(Measured):
    """Random values for an experiment, to test checks that agree for no committed rows."""

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
        """Returns whether a check that agrees can fail. Tries changes of one value that the check
        reads, of all values of a column, and of a column's values at one value of an axis."""
        asked = []
        column = measured.column

        def noted(name, axes):
            found = column(name, axes)
            ratio = measured.experiment.ratios.get(name)
            asked.append((ratio["of"] if ratio else name, tuple(sorted(axes.items()))))
            return found

        measured.column = noted
        self.assertIn(measured.verdict_of(check), AGREEING)
        measured.column = column
        asked = list(dict.fromkeys(asked))
        together = [[one for one in asked if one[0] == name] for name in {name for name, _ in asked}]
        together += [[one for one in asked if one[0] == name and item in one[1]]
                     for name, item in dict.fromkeys((name, item) for name, axes in asked
                                                     for item in axes)]
        return any(self.with_plant(measured, check, points, factor) in (DISAGREES, DIRECTION)
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
                if one.own or any(verdict in (DISAGREES, DIRECTION) for _, verdict in found):
                    continue  # the check fails for committed rows
                holding = [run for run, verdict in found if verdict in AGREEING]
                with self.subTest(id=one.id, check=check["says"]):
                    self.assertTrue(
                        any(self.fails_with(run.measured, check) for run in holding) if holding else
                        any(Drawn(one, seed).verdict_of(check) in (DISAGREES, DIRECTION) for seed in range(20)))
