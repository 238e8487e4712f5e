"""Tests simulated runs with tests/scripts/fake_simulator.py in place of the simulation."""

import os
import pathlib
import re
import threading
import time
from unittest import mock

from fixtures import InADirectory, experiment, row

from experiments import round_loop, sim_runner, store
from experiments.analysis import Measured
from experiments.errors import Refused
from experiments.runner import PointRefused
from experiments.verdicts import AGREES, DISAGREES, OPEN

FAKE = pathlib.Path(__file__).resolve().parent / "fake_simulator.py"
PROFILE = """
name = "a machine"
sockets = 2
cores = 8
contexts = 4
interconnect = "full"
l2_kib = 0
l2_cycles = 10
dirty_cycles = 100
hop_dirty_cycles = 200
two_hop_dirty_cycles = 300
occupancy = 0.7
overlap = 1.0
"""
SIMULATED = {"machine": "niagara2", "seconds": 0.002, "warmup": 0, "flags": {"device": "null"}}


def of_machine(seed=1, machine="simulated x, 64 cores, 2 sockets, model 1"):
    return {"machine": f"{machine}, seed {seed}", "revision": "abc", "binary": "def"}


class WithAMachine(InADirectory):
    def setUp(self):
        super().setUp()
        self.machine = self.directory / "niagara2.toml"
        self.machine.write_text(PROFILE, encoding="utf-8")
        self.log = self.directory / "runs"
        self.log.write_text("", encoding="utf-8")
        self.enterContext(mock.patch.dict(os.environ, {"FAKE_LOG": str(self.log)}))
        self.rows = store.Store(self.directory / "t1" / "quick-niagara2.csv")

    def profile(self):
        return sim_runner.find_machine(str(self.machine))

    def run_jobs(self, one, seeds=1, jobs=2, **more):
        points = one.points("quick", simulated=True)
        with sim_runner.runners(str(FAKE), self.directory, self.profile(), jobs) as made:
            try:
                return sim_runner.run_jobs("T1", [
                    sim_runner.Job(self.rows, number, point)
                    for number, point in round_loop.jobs_left(points, seeds, self.rows)],
                    made, round_loop.Progress(0), **more)
            finally:
                self.rows.arrange(points)

    def begun(self):
        return [line for line in self.log.read_text(encoding="utf-8").splitlines()
                if line.startswith("begin")]


def two_by_two(**fields):
    return experiment(grid=[{"axes": {"log": ["centr", "poplar"], "threads": [1, 4]}}],
                      simulated=SIMULATED, **fields)


class Simulated(WithAMachine):
    def test_a_run_has_the_machine_and_the_flags_of_the_file_s_simulated_form(self):
        self.run_jobs(two_by_two())
        first = next(line for line in self.begun() if "--log=centr" in line and
                     "--threads=1" in line)
        for flag in (f"--machine={self.machine}", "--sim_seed=1", "--seconds=0.002", "--warmup=0",
                     "--device=null"):
            self.assertIn(flag, first.split())

    def test_cores_in_a_file_are_those_of_the_simulated_machine(self):
        self.run_jobs(experiment(grid=[{"flags": {"log": "centr"},
                                        "axes": {"threads": {"all": {"threads": "{cores}"}}}}],
                                 simulated=SIMULATED))
        self.assertIn("--threads=64", self.begun()[0].split())

    def test_runs_end_without_a_row_when_the_time_is_over_and_none_begins_after_it(self):
        slow = experiment(grid=[{"axes": {"log": ["slow"], "threads": [1, 4, 8]}}],
                          simulated=SIMULATED)
        self.run_jobs(slow, until=time.monotonic())
        self.assertEqual(self.begun(), [])
        self.run_jobs(slow, until=time.monotonic() + 0.5)
        self.assertEqual(self.rows.rows, [])

    def test_rounds_are_seeds_and_a_file_holds_several(self):
        self.run_jobs(two_by_two(), seeds=3)
        self.assertEqual(len(self.rows.rows), 12)
        self.assertEqual({(one["round"], one["machine"].split(", ")[-1])
                          for one in self.rows.rows},
                         {("1", "seed 1"), ("2", "seed 2"), ("3", "seed 3")})

    def test_the_rows_are_in_the_order_of_the_file_however_the_runs_ended(self):
        self.run_jobs(two_by_two(), seeds=2, jobs=4)
        places = [(one["round"], one["axis_log"], one["axis_threads"])
                  for one in store.Store(self.rows.path).rows]
        self.assertEqual(places, [(seed, log, threads) for seed in "12"
                                  for log in ("centr", "poplar") for threads in "14"])

    def test_each_run_begins_in_empty_directories_with_names_of_one_length(self):
        one = two_by_two()
        one.simulated.grids[0]["flags"] = {"wal_dir": "{memory}/0"}
        self.run_jobs(one, seeds=2)
        lines = self.log.read_text(encoding="utf-8").splitlines()
        self.assertEqual([line for line in lines if line.startswith("found")], ["found 0"] * 8)
        names = {re.search(r"--wal_dir=(\S+)", line)[1] for line in self.begun()}
        self.assertEqual(len({len(name) for name in names}), 1)
        self.assertIn("-0", next(iter(names)), "the process's number has its zeros")

    def test_a_refusal_ends_everything_unless_it_is_expected(self):
        one = experiment(grid=[{"axes": {"log": ["refused", "centr"], "threads": [1]}}],
                         simulated=SIMULATED)
        with self.assertRaisesRegex(Refused, "no such log"):
            self.run_jobs(one)
        left_out = self.run_jobs(one, skip=PointRefused)
        self.assertEqual([job.point.axes["log"] for job, _ in left_out], ["refused"])

    def test_a_row_that_does_not_say_that_it_is_simulated_is_refused(self):
        one = experiment(grid=[{"flags": {"threads": 1}, "axes": {"log": ["native"]}}],
                         simulated=SIMULATED)
        with self.assertRaises(Refused):
            self.run_jobs(one)
        self.assertEqual(self.rows.rows, [])

    def test_a_runner_that_is_stopped_ends_its_run_at_once(self):
        point = experiment(grid=[{"flags": {"threads": 1, "log": "slow"}}],
                           simulated=SIMULATED).points(simulated=True)[0]
        with sim_runner.SimulatedRunner(str(FAKE), self.directory, self.profile()) as runner:
            def stop():
                while not self.begun():
                    time.sleep(0.01)
                runner.stop()
            stopping = threading.Thread(target=stop)
            stopping.start()
            with self.assertRaises(Refused):
                runner.run(point, 1)
            stopping.join()
        self.assertNotIn("end", self.log.read_text(encoding="utf-8").splitlines())

    def test_rows_of_two_versions_of_a_profile_are_not_mixed(self):
        self.run_jobs(two_by_two())
        self.machine.write_text(PROFILE.replace("300", "400"), encoding="utf-8")
        with self.assertRaisesRegex(Refused, "profile"):
            self.run_jobs(two_by_two(), seeds=2)


class Form(InADirectory):
    def test_the_simulated_form_narrows_the_grid_and_changes_the_flags_of_ways(self):
        one = experiment(
            grid=[{"flags": {"device": "file"}, "axes": {
                "load": {"ycsb": {"workload": "ycsb", "records": 9}, "tpcc": {"workload": "tpcc"}},
                "threads": [1, 16]}}],
            simulated={"machine": "x", "flags": {"device": "null"},
                       "axes": {"threads": [16], "load": {"ycsb": {"records": 5}}}})
        points = one.points("full", simulated=True)
        self.assertEqual([point.name for point in points], ["load=ycsb threads=16"])
        self.assertEqual({name: points[0].flags[name] for name in ("workload", "records", "device")},
                         {"workload": "ycsb", "records": 5, "device": "null"})
        self.assertEqual(len(one.points("full")), 4)

    def test_the_simulated_form_may_have_grids_of_its_own(self):
        one = experiment(simulated={"machine": "x", "grid": [{"axes": {"threads": [64]}}]})
        self.assertEqual([point.name for point in one.points(simulated=True)], ["threads=64"])
        self.assertEqual(len(one.points()), 4)

    def test_its_quick_size_is_its_full_one_narrowed(self):
        one = experiment(simulated={"machine": "x", "seconds": 0.01, "axes": {"log": ["centr"]},
                                    "quick": {"seconds": 0.002, "axes": {"threads": [2]}}})
        self.assertEqual([(point.name, point.flags["seconds"])
                          for point in one.points("quick", simulated=True)],
                         [("log=centr threads=2", 0.002)])
        self.assertEqual([(point.name, point.flags["seconds"])
                          for point in one.points("full", simulated=True)],
                         [("log=centr threads=1", 0.01), ("log=centr threads=2", 0.01)])

    def test_mistakes_in_it_are_refused(self):
        for wrong in ({}, {"machine": "x", "second": 1}, {"machine": "x", "axes": {"log": ["x"]}},
                      {"machine": "x", "axes": {"log": {"x": {}}}},
                      {"machine": "x", "quick": {"round": 1}}):
            with self.subTest(wrong=wrong), self.assertRaises(Refused):
                experiment(simulated=wrong)
        with self.assertRaises(Refused):
            experiment().points(simulated=True)

    def test_a_check_is_decided_by_the_cores_of_the_simulated_machine(self):
        check = [{"says": "so", "holds": "value('tps', log='eleda', threads=1) > 5",
                  "needs_cores": 64}]
        here = [row(1, 10, log="eleda", threads=1)]
        there = [{**here[0], **of_machine()}]
        for rows, wanted in ((here, OPEN), (there, AGREES), ([{**there[0], "tps": "1"}], DISAGREES)):
            [(_, verdict)] = Measured(experiment(check=check), rows).checks()
            self.assertEqual(verdict, wanted)

    def test_the_number_of_simulated_rows_may_be_another_one(self):
        one = experiment(number={"what": "a", "ours": "1"},
                         simulated={"machine": "x", "number": {"what": "b", "ours": "2"}})
        here = [row(1, 10, log="eleda", threads=1)]
        self.assertEqual(Measured(one, here).number(), 1)
        found = Measured(one, [{**here[0], **of_machine()}])
        self.assertEqual((found.number(), found.wanted["what"]), (2, "b"))


class AProfile(WithAMachine):
    def test_only_constants_that_the_machine_uses_are_varied(self):
        self.assertEqual(self.profile().cores, 64)
        self.assertEqual(self.profile().constants(),
                         {"dirty_cycles": 100, "hop_dirty_cycles": 200, "occupancy": 0.7,
                          "overlap": 1.0, **sim_runner.DEFAULTS})

    def test_prices_over_two_hops_are_varied_if_sockets_are_two_hops_apart(self):
        for interconnect, sockets, far in (("square", 2, False), ("square", 4, True),
                                           ("chassis", 4, False), ("chassis", 8, True),
                                           ("full", 8, False)):
            self.machine.write_text(PROFILE.replace("full", interconnect).replace(
                "sockets = 2", f"sockets = {sockets}"), encoding="utf-8")
            with self.subTest(interconnect=interconnect, sockets=sockets):
                self.assertEqual("two_hop_dirty_cycles" in self.profile().constants(), far)

    def test_a_machine_that_is_not_there_is_refused(self):
        for name in ("nowhere", str(self.directory / "x.toml")):
            with self.subTest(name=name), self.assertRaises(Refused):
                sim_runner.find_machine(name)
        self.machine.write_text("sockets = 1\ncores = 2\n", encoding="utf-8")
        with self.assertRaisesRegex(Refused, "contexts"):
            self.profile()


class OnTheCommandLine(WithAMachine):
    def figures(self, command, *words):
        return self.run_figures(command, "A9a", f"--machine={self.machine}",
                                f"--results={self.directory}", *words).stdout

    def test_a_result_is_run_drawn_and_checked_on_a_simulated_machine(self):
        said = self.figures("run", f"--logjam={FAKE}", "--seeds=2", "--plot",
                            f"--wal_dir={self.directory}/logs")
        rows = store.Store(self.directory / "a9a" / "quick-niagara2.csv").rows
        self.assertEqual(len(rows), 2 * 5 * 7)
        self.assertTrue(rows[0]["machine"].startswith("simulated niagara2, 64 cores"))
        self.assertIn("[disagrees] with 64 threads D is slower than C\n", said)
        self.assertTrue((self.directory / "a9a" / "quick-niagara2.png").exists())
        self.assertEqual(list((self.directory / "logs").iterdir()), [])
        checked = self.run_figures("check", "A9a", f"--machine={self.machine}",
                                   f"--results={self.directory}", check=False)
        self.assertEqual(checked.returncode, 1)
        self.assertIn("the baseline is saturated", checked.stdout)
        self.assertRegex(self.report(), r"\*\*\d of 13 agree, simulated niagara2\*\*")

    def test_a_sensitivity_run_stands_in_the_report(self):
        said = self.figures("sensitivity", f"--logjam={FAKE}", "--seeds=1",
                            "--constants=dirty_cycles", f"--wal_dir={self.directory}/logs")
        self.assertIn("of 2 variants it comes out otherwise with none", said)
        self.assertIn("Each constant of niagara2 halved and doubled",
                      self.report())

    def test_mistakes_get_one_sentence_and_status_2(self):
        machine = f"--machine={self.machine}"
        for words in (["A9a", machine, "--logjam=/nowhere"], ["P11", machine, f"--logjam={FAKE}"],
                      ["A9a", machine, "--rounds=2"], ["A9a", machine, "--beside=x"], ["A9a", "--seeds=2"],
                      ["A9a", "--machine=nowhere", f"--logjam={FAKE}"]):
            with self.subTest(words=words):
                done = self.run_figures("run", *words, f"--results={self.directory}", check=False)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertEqual("`make sim` builds" in done.stderr, "--logjam=/nowhere" in words)
