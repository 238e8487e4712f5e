"""Tests sensitivity runs with tests/scripts/fake_simulator.py in place of the simulation."""

import unittest

from fixtures import experiment, row
from sim_runner_test import FAKE, WithAMachine, of_machine, two_by_two

from experiments import round_loop, sensitivity, sim_runner, store
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
        self.assertEqual((gains.holds, gains.seeds, gains.variants), (2, 2, 13))
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
        self.assertEqual((found.holds, found.otherwise),
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
