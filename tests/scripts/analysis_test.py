"""Tests that medians, ratios and verdicts follow from the rows alone."""

import random
import unittest

from fixtures import experiment, row

from experiments import doubts, report, text_tables
from experiments.analysis import MARGIN, Measured
from experiments.errors import Refused
from experiments.verdicts import AGREES, DISAGREES, MISSING, OPEN, words


LOGS = [{"axes": {"log": ["centr", "eleda"]}}]
# In the three rounds, ELEDA is 2, 4 and 1 times as fast as centr.
UNEVEN = [row(number, value, log=log) for number, centr, eleda in ((1, 10, 20), (2, 100, 400),
                                                                   (3, 1000, 1000))
          for log, value in (("centr", centr), ("eleda", eleda))]


def measured(rows=None, **fields):
    rows = rows or [row(number, value * number, log=log, threads=threads)
                    for number in (1, 2, 3)
                    for log, value in (("centr", 10), ("eleda", 30)) for threads in (1, 2)]
    return Measured(experiment(**fields), rows)


def check(holds, **fields):
    return {"says": "so", "holds": holds, **fields}


def verdict(found):
    return words([of_check for _, of_check in found.checks()])


class MeasuredRows(unittest.TestCase):
    def test_a_ratio_is_the_median_of_the_rounds_ratios_and_not_the_ratio_of_medians(self):
        found = measured(UNEVEN, grid=LOGS,
                         table={"ratios": {"x": {"of": "tps", "to": {"log": "centr"}}}})
        self.assertEqual(found.ratio("tps", {"log": "eleda"}, {"log": "centr"}), 2)
        self.assertEqual(found.value("tps", log="eleda") / found.value("tps", log="centr"), 4)
        self.assertEqual(found.value("x", log="eleda"), 2)
        self.assertEqual(sorted(found.column("x", {"log": "eleda"}).values()), [1, 2, 4])

    def test_a_ratio_uses_only_rounds_that_both_have(self):
        rows = [row(1, 10, log="centr"), row(2, 10, log="eleda"), row(3, 10, log="centr"),
                row(3, 30, log="eleda")]
        found = measured(rows, grid=LOGS)
        self.assertEqual(found.ratio("tps", {"log": "eleda"}, {"log": "centr"}), 3)

    def test_the_table_can_have_the_best_point_of_an_axis_that_is_allowed(self):
        best = {"of": "tps", "over": "threads", "where": "tps <= 30"}
        rows = [row(1, value, log=log, threads=threads)
                for log, values in (("centr", (10, 30, 40)), ("eleda", (31, 32, 33)))
                for threads, value in enumerate(values, 1)]
        found = measured(rows, grid=[{"axes": {"log": ["centr", "eleda"], "threads": [1, 2, 3]}}],
                         table={"columns": ["tps"], "best": best})
        self.assertEqual(found.table().fillna("-").values.tolist(),
                         [["centr", "2", 30], ["eleda", "none", "-"]])
        with self.assertRaisesRegex(Refused, "table.best over cores, which is no axis"):
            experiment(table={"best": {**best, "over": "cores"}})
        with self.assertRaisesRegex(Refused, "table.best that is not of, over, where"):
            experiment(table={"best": {"of": "tps"}})

    def test_no_check_looks_at_a_row_that_is_unsteady(self):
        def judged(machine, *unsteady):
            rows = [{**row(number, 10, log="centr"), "machine": machine, "unsteady": why}
                    for number, why in enumerate(unsteady, 1)]
            return measured(rows, grid=[{"axes": {"log": ["centr"]}}],
                            check=[check("value('tps', log='centr') == 10")])

        why = "p99 above"
        for machine in ("simulated this, 2 cores, 1 socket, model 7, seed 1", "Xeon, 2 cores"):
            self.assertEqual(judged(machine, "", "").checks()[0][1], AGREES)
            self.assertEqual(judged(machine, why, "").checks()[0][1], AGREES, "one round is left")
            self.assertEqual(judged(machine, why, why).checks()[0][1], MISSING)
            self.assertEqual(judged(machine, why, why).value("tps", log="centr"), 10, "tables have it")

    def test_several_points_are_not_one_value(self):
        with self.assertRaises(Refused):
            measured().value("tps", log="centr")
        self.assertEqual(measured().values("tps", log="centr"), [20, 20])
        self.assertEqual(measured().ratios("tps", {"log": "eleda"}, {"log": "centr"}), [3, 3])

    def test_columns_are_computed_in_order_from_numbers_and_counters(self):
        found = measured(columns={"ktps": "tps / 1000", "more": "ktps + counter('segments')"})
        self.assertAlmostEqual(found.value("more", log="centr", threads=1), 3.02)

    def test_a_check_holds_or_does_not_by_the_rows(self):
        found = measured(check=[check("ratio('tps', {'log': 'eleda'}, {'log': 'centr'}, threads=2) > 2"),
                                check("all(v > 25 for v in values('tps', log='eleda'))"),
                                check("value('tps', log='eleda', threads=1) > 100")])
        self.assertEqual([verdict for _, verdict in found.checks()], [AGREES, AGREES, DISAGREES])
        self.assertEqual(verdict(found), "2 of 3 agree")

    def test_a_check_is_open_on_fewer_cores_than_it_needs(self):
        found = measured(check=[check("False", needs_cores=4), check("True")])
        self.assertEqual([verdict for _, verdict in found.checks()], [OPEN, AGREES])
        self.assertEqual(verdict(found), "1 of 2 agrees")
        found.origin["machine"] = "a CPU, 4 cores"
        self.assertEqual([verdict for _, verdict in found.checks()], [DISAGREES, AGREES])
        self.assertEqual(measured(needs_cores=3, check=[check("False")]).checks()[0][1], OPEN)

    def test_what_has_no_rows_is_not_measured(self):
        rows = [row(1, 10, log="centr", threads=1)]
        found = measured(rows, check=[check("value('tps', log='eleda', threads=1) > 0")],
                         number={"what": "x", "ours": "value('tps', log='eleda', threads=1)"})
        self.assertEqual(found.checks()[0][1], MISSING)
        self.assertIsNone(found.number())

    def test_a_mistake_in_an_expression_is_refused_with_the_file_s_name(self):
        for expression in ("valeu('tps')", "value('tps', logs='centr')", "1 +"):
            with self.subTest(expression=expression), self.assertRaises(Refused) as refused:
                measured(check=[check(expression)]).checks()
            self.assertIn("t1.toml", str(refused.exception))

    def test_rising_allows_a_little_noise(self):
        found = measured(check=[check("rising([100, 96, 120])"), check("rising([100, 90, 120])"),
                                check("falling([100, 104, 80])"), check("falling([100, 110])")])
        self.assertEqual([verdict for _, verdict in found.checks()], [AGREES, DISAGREES, AGREES, DISAGREES])

    def test_the_table_has_medians_and_ratios_each_with_its_interval(self):
        found = measured(table={"columns": ["tps"], "ratios": {
            "x_centr": {"of": "tps", "to": {"log": "centr"}}}})
        last = found.table().iloc[-1]
        self.assertEqual((last["log"], last["threads"], last["tps"], last["x_centr"]),
                         ("eleda", "2", 60, 3))
        # The values are 30, 60 and 90: their deviation is 30; Student's t for 2 degrees is 4.303.
        self.assertAlmostEqual(last["tps" + MARGIN], 100 * 4.3027 * 30 / 3 ** 0.5 / 60, places=2)
        self.assertEqual(last["x_centr" + MARGIN], 0)

    def test_an_empty_cell_is_a_dash_in_the_table_and_leaves_its_check_open(self):
        rows = [{**row(number, 10 * number, log=log, threads=1), "commit_p50_us":
                 "" if log == "eleda" else "7"} for number in (1, 2, 3) for log in ("centr", "eleda")]
        found = measured(rows, table={"columns": ["commit_p50_us", "ms"], "ratios": {
            "x": {"of": "commit_p50_us", "to": {"log": "centr"}}}},
            columns={"ms": "commit_p50_us / 1000"},
            check=[check("value('ms', log='eleda', threads=1) < 1")])
        self.assertEqual(found.checks()[0][1], MISSING)
        _, lines = text_tables.heads_and_lines(found.table())
        self.assertEqual([text_tables.shown(cell) for cell in lines[1]],
                         ["eleda", "1", *6 * [text_tables.EMPTY]])
        self.assertEqual(report.cell(None), text_tables.EMPTY)

    def test_a_ratio_to_zero_is_no_number_of_a_table(self):
        rows = [row(1, value, log=log) for log, value in (("centr", 0), ("eleda", 5))]
        found = measured(rows, grid=LOGS, table={
            "columns": ["tps"], "ratios": {"x": {"of": "tps", "to": {"log": "centr"}}}})
        self.assertEqual(text_tables.heads_and_lines(found.table())[1][1], ["eleda", 5, None])

    def test_one_round_has_no_interval(self):
        rows = [row(1, 10, log=log, threads=1) for log in ("centr", "eleda")]
        self.assertEqual(list(measured(rows, table={"columns": ["tps"]}).table().columns),
                         ["log", "threads", "tps"])
        self.assertIsNone(doubts.interval([10.0]))

    def test_an_interval_of_drawn_rounds_has_the_mean_in_it_19_times_of_20(self):
        draw = random.Random(1)
        for rounds in (2, 3, 5, 10):
            found = (doubts.interval([draw.gauss(7, 2) for _ in range(rounds)])
                     for _ in range(2000))
            with self.subTest(rounds=rounds):
                self.assertAlmostEqual(sum(low <= 7 <= high for low, high in found) / 2000, 0.95,
                                       delta=0.02)
