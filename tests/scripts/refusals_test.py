"""Tests, with the real program, that a sweep finds the refused points before it runs any point."""

import os
import unittest

from fixtures import InADirectory

from experiments import refusals, runner, sweep
from experiments.errors import Refused

LIST = ["flush=txns:8,us:500"], ["flush=us:50,txns:8,us:500"], ["log_records=txn,range"], [
    "locks=early,work_us:100,write"], ["tpcc_mix=45,43,4,4,4", "workload=ycsb,tpcc"], [
    "tpcc_mix=np,45,43,4,4,4", "workload=tpcc"]


@unittest.skipUnless(os.environ.get("LOGJAM"), "LOGJAM names no binary")
class Refusals(InADirectory):
    def checked(self, *words, flags=()):
        """Returns the names of the accepted points, and the lines about the refused points."""
        one = sweep.sweep(words, flags)
        with runner.Runner(runner.logjam_of(), self.directory, tries=1) as made:
            points = one.points("full", lambda: runner.schemes_of(made.logjam))
            taken, refused = refusals.checked(made, points, sweep.split_axes(words))
        return [point.name for point in taken], refusals.lines(points, refused)

    def refusal(self, *words, flags=()):
        with self.assertRaises(Refused) as refused:
            self.checked(*words, flags=flags)
        return str(refused.exception)

    def test_a_check_loads_nothing_and_leaves_nothing(self):
        one = sweep.sweep(["threads=1"], [])
        with runner.Runner(runner.logjam_of(), self.directory, tries=1) as made:
            self.assertEqual(made.refusal(one.points("full")[0]), "")
            self.assertEqual([path for path in self.directory.rglob("*") if path.is_file()], [])

    def test_combinations_that_make_no_sense_are_left_out_in_a_line_for_each_reason(self):
        taken, lines = self.checked("log=centr,scm", "threads=1,2", "device=file,nvm")
        self.assertEqual(len(taken), 6)
        self.assertEqual(len(lines), 1)
        self.assertRegex(lines[0], "^left out 2: log=scm device=file: --log=scm .* needs --device")
        self.assertLess(len(lines[0]), 150)

    def test_a_mistake_in_a_value_refuses_the_sweep_though_others_could_run(self):
        for words, why in ((["log=centr,pwall"], "--log=pwall is not a scheme"),
                           (["threads=1,two", "log=centr,eleda"], "--threads=two is"),
                           (["device=file,fil"], "device=fil.* is not a device")):
            with self.subTest(words=words):
                self.assertRegex(self.refusal(*words), why)

    def test_a_flag_that_is_not_there_and_a_mistake_in_the_flags_of_all_are_refused(self):
        self.assertIn("there is no flag --treads", self.refusal("treads=1,2"))
        self.assertIn("there is no flag --treads", self.refusal("log=centr", flags=["--treads=1"]))
        self.assertIn("nothing is left to run; left out 2: --threads=0",
                      self.refusal("log=centr,eleda", flags=["--threads=0"]))

    def test_what_can_be_one_value_with_commas_is_not_cut(self):
        for words in LIST:
            with self.subTest(words=words):
                said = self.refusal(*words)
                self.assertIn("is one value or several: for several, write ", said)
                self.assertIn(f" {words[0].partition('=')[0]}=", said)

    def test_lists_of_values_without_commas_are_lists(self):
        for words, count in ((["flush=us:50,us:500"], 2), (["log_records=txn,op"], 2),
                             (["locks=early,write,all"], 3), (["threads=1,2,4,8"], 4),
                             (["tpcc_mix=np,standard", "workload=ycsb,tpcc"], 4),
                             (["flush=txns:8,us:500", "flush=us:50"], 2),
                             (["tpcc_mix=45,43,4,4,4", "tpcc_mix=np", "workload=tpcc"], 2)):
            with self.subTest(words=words):
                taken, lines = self.checked(*words)
                self.assertEqual((len(taken), lines), (count, []))

    def test_every_scheme_has_a_combination(self):
        taken, lines = self.checked("log=every")
        self.assertGreater(len(taken), 30)
        self.assertEqual(lines, [])
