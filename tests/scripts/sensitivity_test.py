"""Tests sensitivity runs and draws with tests/scripts/fake_simulator.py in place of the simulation."""

import shutil
import unittest

from fixtures import experiment, row
from sim_runner_test import FAKE, PROFILE, WithAMachine, of_machine, two_by_two

from experiments import ensemble, round_loop, sensitivity, sim_runner, store
from experiments.errors import Refused

GAINS = {"says": "poplar gains from threads",
         "holds": "ratio('tps', {'threads': 4}, {'threads': 1}, log='poplar') > 1.5"}
CENTR = {"says": "centr does not",
         "holds": "ratio('tps', {'threads': 4}, {'threads': 1}, log='centr') < 1.5"}


def names(points):
    return [point.name for point in points]


class Needed(unittest.TestCase):
    def needed(self, *holds, **fields):
        one = experiment(check=[{"says": "so", "holds": each} for each in holds], **fields)
        return names(sensitivity.select(one, one.points()))

    def test_only_the_points_that_a_check_looks_at_are_run(self):
        ratios = {"ratios": {"x": {"of": "tps", "to": {"log": "centr"}}}}
        points = [f"log={log} threads={count}" for log in ("centr", "eleda") for count in (1, 2)]
        for holds, wanted in (
                ("value('tps', log='eleda', threads=2) > 3", points[3:]),
                ("value('tps', log='centr', threads=1) < 0 and rising(values('tps', log='eleda'))",
                 [points[0], *points[2:]]),
                ("all(x > 1 for x in ratios('tps', {'log': 'eleda'}, {'log': 'centr'}))", points),
                ("value('x', log='eleda', threads=1) > 3", points[::2])):
            with self.subTest(holds):
                self.assertEqual(self.needed(holds, table=ratios), wanted)
        self.assertEqual(self.needed(), points)

    def test_every_check_of_the_simulated_results_can_be_asked(self):
        from experiments import definition
        for one in definition.load_all().values():
            if one.simulated and one.checks:
                points = one.points("full", lambda: {name: {"log": name} for name in
                                                     ("centr", "silo")}, simulated=True)
                with self.subTest(id=one.id):
                    self.assertTrue(0 < len(sensitivity.select(one, points)) <= len(points))


class Sensitivity(WithAMachine):
    def setUp(self):
        super().setUp()
        self.folder = self.directory / "t1" / "sensitivity-niagara2"

    def vary(self, one, seeds=2, only=(), screen=False):
        with sim_runner.runners(str(FAKE), self.directory, self.profile(), 2) as made:
            return sensitivity.run(one, one.points(simulated=True),
                                   sensitivity.variants(self.profile(), only), self.folder, made,
                                   round_loop.Progress(0), seeds, screen)

    def test_each_constant_is_halved_and_doubled_within_what_it_can_be(self):
        self.assertEqual([one.setting for one in sensitivity.variants(self.profile())],
                         ["", "dirty_cycles=50", "dirty_cycles=200", "hop_dirty_cycles=100",
                          "hop_dirty_cycles=400", "occupancy=0.35", "occupancy=1.0", "overlap=2.0",
                          "hold=0.1", "hold=0.4", "store_cycles=2", "store_cycles=8",
                          "lines_noticed=1", "lines_noticed=4"])

    def test_the_shape_of_a_machine_is_not_varied(self):
        constants = sim_runner.find_machine("numa4x64").constants()
        self.assertIn("complex_dirty_cycles", constants)
        self.assertFalse({"sockets", "cores", "complexes"} & set(constants))

    def test_a_constant_that_the_machine_does_not_use_is_refused(self):
        with self.assertRaises(Refused):
            sensitivity.variants(self.profile(), ["l2_cycles"])

    def test_a_claim_that_depends_on_a_constant_is_found(self):
        one = two_by_two(check=[GAINS, CENTR])
        self.vary(one)
        gains, centr = sensitivity.survivals(one, self.folder)
        self.assertEqual((gains.agrees, gains.seeds, gains.variants), (2, 2, 13))
        self.assertEqual(gains.otherwise, ["dirty_cycles doubled (2 of 2 seeds)"])
        self.assertEqual(centr.otherwise, [])

    def test_other_seeds_of_a_variant_without_effect_are_not_run(self):
        self.vary(two_by_two(check=[GAINS]))
        ran = self.begun()
        self.assertEqual(len(ran), 2 * 2 + 13 * 2 + 2)
        self.assertEqual({line.split("--set=")[1].split()[0] for line in ran
                          if "--sim_seed=2" in line and "--set=" in line}, {"dirty_cycles=200"})

    def test_what_has_a_row_is_not_run_again(self):
        one = two_by_two(check=[GAINS])
        self.vary(one)
        before = len(self.begun())
        self.vary(one)
        self.assertEqual(len(self.begun()), before)
        self.vary(one, seeds=3)
        self.assertEqual(len(self.begun()), before + 4)

    def test_a_screening_runs_other_seeds_only_where_a_check_comes_out_otherwise(self):
        never = {"says": "nothing", "holds": "value('tps', log='centr', threads=1) < 0"}
        one = two_by_two(check=[GAINS, never])
        self.vary(one, screen=True, only=["dirty_cycles", "occupancy"])
        self.assertEqual({line.split("--set=")[1].split()[0] for line in self.begun()
                          if "--sim_seed=2" in line and "--set=" in line}, {"dirty_cycles=200"})
        found = sensitivity.survivals(one, self.folder)[0]
        self.assertEqual(found.otherwise, ["dirty_cycles doubled (2 of 2 seeds)"])

    def test_a_check_that_needs_more_cores_is_left_out(self):
        one = two_by_two(check=[{**GAINS, "needs_cores": 65}, CENTR])
        self.vary(one, seeds=1, only=["occupancy"])
        self.assertEqual({path.stem for path in self.folder.glob("*.csv")},
                         {"unchanged", "occupancy-halved", "occupancy-doubled"})
        self.assertEqual([found.says for found in sensitivity.survivals(one, self.folder)],
                         [CENTR["says"]])

    def test_a_check_that_fails_on_the_machine_can_come_out_otherwise_too(self):
        one = two_by_two(check=[{"says": "no gain", "holds": f"not ({GAINS['holds']})"}])
        self.vary(one, seeds=1)
        found = sensitivity.survivals(one, self.folder)[0]
        self.assertEqual((found.agrees, found.otherwise),
                         (0, ["dirty_cycles doubled (1 of 1 seeds)"]))

    def judged(self, unchanged, halved):
        """Returns the Survival of a check "the rate is above 5" with these rates of the seeds."""
        one = experiment(check=[{"says": "so", "holds": "value('tps', log='centr', threads=1) > 5"}])
        for name, rates in (("unchanged", unchanged), ("x-halved", halved)):
            path = self.folder / f"{name}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            store.write_rows(path, [{**row(seed, rate, log="centr", threads=1), **of_machine(seed)}
                                    for seed, rate in enumerate(rates, 1)])
        return sensitivity.survivals(one, self.folder)[0]

    def test_rows_of_one_seed_are_judged_alone(self):
        self.assertEqual(self.judged((10, 10), (10, 1)).otherwise, ["x halved (1 of 2 seeds)"])

    def test_with_as_many_seeds_for_as_against_the_first_one_decides(self):
        self.assertEqual(self.judged((10, 1), (1, 1)).otherwise, ["x halved (2 of 2 seeds)"])
        self.assertEqual(self.judged((1, 10), (1, 1)).otherwise, [])


class DrawnTogether(WithAMachine):
    def setUp(self):
        super().setUp()
        self.folder = self.directory / "t1" / "draws-niagara2"

    def settings(self, number, seed=1, name="numa4x64"):
        return [{pair.split("=")[0]: float(pair.split("=")[1]) for pair in one.setting.split(",")}
                for one in ensemble.draws(sim_runner.find_machine(name), number, seed)[1:]]

    def test_all_constants_that_nobody_measured_are_drawn_together(self):
        profile = sim_runner.find_machine("numa4x64")
        left_out = {"hold", "store_cycles", "lines_noticed", *ensemble.RANGES}
        beside_assumed = {"complex_dirty_cycles", "hop_dirty_cycles"}
        wanted = profile.assumed & set(profile.constants()) | left_out | beside_assumed
        self.assertTrue({"ghz", "occupancy", "l2_cycles"} <= wanted)
        self.assertFalse({"dirty_cycles", "store_buffer", "sockets"} & wanted)
        for drawn in self.settings(9):
            self.assertEqual(set(drawn), wanted)

    def test_what_was_measured_keeps_its_value(self):
        drawn = self.settings(1, name="epyc2")[0]
        self.assertNotIn("occupancy", drawn)
        self.assertIn("hold", drawn)

    def test_a_drawn_constant_stays_in_its_range(self):
        fields = sim_runner.find_machine("numa4x64").fields
        seen = self.settings(300)
        for name in seen[0]:
            values = [drawn[name] for drawn in seen]
            low, high = ensemble.RANGES.get(name, (0, 0))
            if name in fields and name not in ensemble.RANGES:
                low, high = fields[name] / 2 - 0.5, 2 * fields[name] + 0.5
            if high:
                self.assertTrue(low <= min(values) and max(values) <= high, name)
                self.assertGreater(max(values) - min(values), 0.7 * (high - low), name)

    def test_prices_of_one_distance_share_a_factor_and_a_near_line_costs_less(self):
        fields = sim_runner.find_machine("numa4x64").fields
        for drawn in self.settings(300):
            for place in ("complex_", "hop_"):
                factors = [drawn[name] / fields[name] for name in drawn if place in name]
                self.assertLess(max(factors) - min(factors), 0.01)
            self.assertLessEqual(drawn["l3_cycles"], drawn["complex_clean_cycles"])
            self.assertLessEqual(drawn["complex_clean_cycles"], drawn["hop_clean_cycles"])
            self.assertLessEqual(drawn["memory_cycles"], drawn["hop_memory_cycles"])

    def test_a_draw_follows_from_its_seed_and_number(self):
        self.assertEqual(self.settings(5), self.settings(9)[:5])
        self.assertNotEqual(self.settings(1), self.settings(1, seed=2))
        self.assertEqual(len({tuple(one.values()) for one in self.settings(9)}), 9)

    def judged(self, *machines, check="ratio('tps', {'log': 'eleda'}, {'log': 'centr'}) > 1",
               unsteady=""):
        """Returns the tables of an unchanged machine and draws: (centr's, eleda's) rate by seed."""
        one = experiment(grid=[{"axes": {"log": ["none", "centr", "eleda"]}}],
                         check=[{"says": "so", "holds": check}])
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        for number, seeds in enumerate(machines):
            name = f"draw-1-{number:02}" if number else "unchanged"
            store.write_rows(self.folder / f"{name}.csv", [
                {**row(seed, rate, log=log), **of_machine(seed),
                 "unsteady": unsteady if (name, log) == ("draw-1-01", "eleda") else ""}
                for seed, rates in enumerate(seeds, 1)
                for log, rate in zip(("none", "centr", "eleda"), (100, *rates))])
        return [lines for _, _, lines in ensemble.Ensemble(one, self.folder).tables()]

    def test_a_conclusion_survives_with_95_percent_of_the_draws_and_the_unchanged_machine(self):
        has, one_seed, none = [(1, 3), (1, 3)], [(1, 3), (3, 1)], [(3, 1), (3, 1)]
        for machines, wanted in (
                ([has] * 21, ["so", "yes", "20 of 20", "0", "survives"]),
                ([has] * 20 + [one_seed], ["so", "yes", "19 of 20", "0", "survives"]),
                ([has] * 19 + [one_seed, none], ["so", "yes", "18 of 20", "0", "does not survive"]),
                ([one_seed] + [has] * 20, ["so", "no", "20 of 20", "0", "does not survive"]),
                ([has] * 20, ["so", "yes", "19 of 19", "0", "too few draws"])):
            with self.subTest(wanted=wanted):
                self.assertEqual(self.judged(*machines)[0], [wanted])

    def test_a_draw_without_all_rows_is_no_draw_and_an_unsteady_one_has_no_conclusion(self):
        has = [(1, 3), (1, 3)]
        self.assertEqual(self.judged(*[has] * 20, has[:1])[0],
                         [["so", "yes", "19 of 19", "0", "too few draws"]])
        for lost, verdict in ((2, "does not survive"), (1, "undecided"), (0, "survives")):
            checks, groups, pairs = self.judged(*[has] * (21 - lost), *[[(3, 1), (3, 1)]] * lost,
                                                unsteady="yes")
            self.assertEqual(checks, [["so", "yes", f"{19 - lost} of 20", "1", verdict]])
        self.assertEqual([line[3:7] for line in groups],
                         [["19", "0", "0", "1"], ["0", "20", "0", "0"]])
        self.assertEqual(pairs, [["2 to 5", "1", "1", "95.0 %", "0.0 %"]])
        self.assertEqual(self.judged(has), [])

    def test_logs_are_grouped_by_the_best_log_and_pairs_by_their_ratio(self):
        _, groups, pairs = self.judged([(1, 3), (1, 4)], *[[(1, 3), (1, 3)]] * 18,
                                       [(1, 9), (1, 9)], [(2, 1), (2, 1)])
        self.assertEqual(groups, [
            ["", "eleda", "within 2x", "19", "1", "0", "0", "survives"],
            ["", "centr", "2x to 5x", "1", "18", "1", "0", "does not survive"]])
        self.assertEqual(pairs, [["2 to 5", "1", "1", "95.0 %", "5.0 %"]])

    def test_draws_are_run_with_every_seed_printed_and_reported(self):
        self.machine.write_text(PROFILE.replace("= 100", "= 100  # assumed"), encoding="utf-8")
        words = ("A9a", f"--machine={self.machine}", f"--results={self.directory}",
                 f"--logjam={FAKE}", f"--wal_dir={self.directory}/logs", "--draws=2")
        said = self.run_figures("sensitivity", *words).stdout
        title = "2 draws of what niagara2 assumes (--draw_seed=1), each with 2 seeds"
        self.assertIn(title, said)
        self.assertIn("too few draws", said)
        ran = self.begun()
        settings = {line.split("--set=")[1].split()[0] for line in ran if "--set=" in line}
        self.assertEqual(len(settings), 2)
        self.assertTrue(all("dirty_cycles=" in one and "occupancy=" not in one.split(",read_")[0]
                            for one in settings))
        self.run_figures("sensitivity", *words)
        self.assertEqual(len(self.begun()), len(ran))
        self.assertIn(title, self.report())
        for wrong in ("--draws=0", "--constants=hold", "--screen"):
            done = self.run_figures("sensitivity", *words, wrong, check=False)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
