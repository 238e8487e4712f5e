"""Tests the points of the experiments' grids, and the refusal of wrong files."""

import unittest

from fixtures import InADirectory, experiment

from experiments import definition, sweep
from experiments.errors import Refused

PICTURES = ["A15"]  # results without any check


class Sweep(unittest.TestCase):
    def test_an_axis_that_comes_again_is_not_split_at_commas(self):
        one = sweep.sweep(["flush=txns:8,us:500", "flush=us:50", "threads=1,2"], [])
        self.assertEqual([point.name for point in one.points("full")], [
            "flush=txns:8,us:500 threads=1", "flush=txns:8,us:500 threads=2",
            "flush=us:50 threads=1", "flush=us:50 threads=2"])
        self.assertIn("--flush=txns:8,us:500", one.points("full")[0].command_line())

    def test_a_log_that_the_reader_names_is_not_replaced_unasked(self):
        for words, flags in ((["log=centr"], ["--wal_dir=/a,/b"]), (["wal_dir=/a", "wal_dir=/b"], [])):
            with self.assertRaisesRegex(Refused, "would replace the log in /a"):
                sweep.sweep(words, flags)
            self.assertTrue(sweep.sweep(words, [*flags, "--overwrite"]).points("full"))
        self.assertTrue(sweep.sweep(["log=centr"], ["--wal_dir={dir}/0,{dir}/1"]).points("full"))

    def test_mistakes_are_refused(self):
        for words in (["rounds=2", "log=a", "rounds=3"], ["rounds=0", "log=a"],
                      ["rounds=2,3", "log=a"], ["=a"], ["log="], ["log"], ["--log=a"],
                      ["rounds=3"]):
            with self.subTest(words=words), self.assertRaises(Refused):
                sweep.sweep(words, [])


class Definition(InADirectory):
    def test_every_file_of_the_repository_can_be_read_and_has_points_in_both_sizes(self):
        for one in definition.load_all().values():
            for size in definition.SIZES:
                with self.subTest(id=one.id, size=size):
                    self.assertTrue(one.points(size, lambda: {"centr": {"log": "centr"}}))

    def test_every_published_result_has_a_claim_and_its_checks_quote_the_paper(self):
        published = [one for one in definition.load_all().values() if not one.own]
        self.assertGreater(len(published), 30)
        for one in published:
            with self.subTest(id=one.id):
                self.assertTrue(one.source and one.published and one.here)
                for check in one.checks:
                    self.assertRegex(check.get("quotes", ""), "^(Abstract|Section|Sections|Fig|Figure|"
                                                              "Table|Tables|Caption|Appendix)")
        self.assertEqual([one.id for one in published if not one.checks], PICTURES)

    def test_points_are_all_combinations_in_the_order_of_the_file(self):
        self.assertEqual([point.name for point in experiment().points()],
                         ["log=centr threads=1", "log=centr threads=2", "log=eleda threads=1",
                          "log=eleda threads=2"])

    def test_a_named_way_sets_its_flags_over_those_of_the_grid(self):
        one = experiment(grid=[{"flags": {"device": "file", "verify": True}, "axes": {
            "way": {"ours": {"log": "eleda", "device": "null"}}}}])
        flags = one.points()[0].flags
        self.assertEqual((flags["log"], flags["device"], flags["verify"]), ("eleda", "null", True))
        self.assertEqual(flags["seconds"], 0.5)

    def test_lists_are_merged_key_by_key(self):
        one = experiment(grid=[{"flags": {"flush": {"us": 500, "txns": 8}}, "axes": {
            "way": {"ours": {"flush": {"bytes": 4096, "txns": 0}}, "theirs": {"flush": "us:7"}}}}])
        self.assertIn("--flush=us:500,txns:0,bytes:4096", one.points()[0].command_line())
        self.assertIn("--flush=us:7", one.points()[1].command_line())

    def test_a_size_narrows_an_axis_and_replaces_flags(self):
        one = experiment(quick={"axes": {"threads": [2]}, "flags": {"seed": 7}})
        self.assertEqual([point.axes["threads"] for point in one.points("quick")], ["2", "2"])
        self.assertEqual(one.points("quick")[0].flags["seed"], 7)
        self.assertEqual(len(one.points("full")), 4)

    def test_a_recovery_has_the_flags_of_the_run_before_it(self):
        one = experiment(grid=[{"command": "recover", "flags": {"read_mb_s": 100},
                                "prepare": {"device": "sim:0"}, "prepare_axes": {"log": ["pwal"]}}])
        point = one.points()[0]
        self.assertEqual(point.prepare["log"], "pwal")
        self.assertEqual(point.prepare["seconds"], 0.5)
        self.assertEqual(point.flags, {"read_mb_s": 100})

    def test_a_pace_lengthens_the_transactions_of_its_paper_alone(self):
        grids = [{"flags": {"log": "eleda"}, "axes": {"locks": ["write"], "threads": [1]}},
                 {"axes": {"threads": [1]}},
                 {"command": "micro", "axes": {"threads": [1]}}]
        one = experiment(grid=grids, source="ELEDA, Fig. 8", simulated={"machine": "eleda"})
        us = one.pace()
        self.assertGreater(us, 0)
        self.assertEqual([point.flags.get("locks") for point in
                          one.points("full", simulated=True, paced=True)],
                         [f"write,work_us:{us}", f"early,work_us:{us}", None])
        self.assertEqual([point.flags.get("locks") for point in one.points("full", simulated=True)],
                         ["write", None, None])
        with self.assertRaisesRegex(Refused, "paper without a pace"):
            experiment(source="P-WAL, Fig. 6").points("full", paced=True)

    def test_every_stands_for_all_schemes(self):
        one = experiment(grid=[{"axes": {"log": "every"}}])
        points = one.points("quick", lambda: {"scm": {"log": "scm", "device": "nvm"}})
        self.assertEqual((points[0].name, points[0].flags["device"]), ("log=scm", "nvm"))

    def test_mistakes_in_a_file_are_refused(self):
        for fields in ({"claims": "x"}, {"grid": [{"axis": {}}]}, {"quick": {"axes": {"log": ["x"]}}},
                       {"grid": [{"command": "recover"}]}, {"plot": {"kind": "pie"}},
                       {"check": [{"holds": "True"}]}, {"quick": {"rounds": 0}}):
            with self.subTest(fields=fields), self.assertRaises(Refused):
                experiment(**fields)

    def test_a_result_is_found_by_each_of_its_ids_in_small_letters_too(self):
        found = {"E9": experiment(id="E9", also=["E11"])}
        self.assertEqual(definition.find("e11", found).id, "E9")
        with self.assertRaises(Refused):
            definition.find("E12", found)

    def test_results_are_listed_by_paper_and_number(self):
        folder = self.directory / "figures"
        folder.mkdir()
        for name in ("A10", "A2", "A9b", "A9a", "P5"):
            (folder / f"{name.lower()}.toml").write_text(
                f'id = "{name}"\ntitle = "t"\nclaim = "c"\n[[grid]]\n', encoding="utf-8")
        self.assertEqual(list(definition.load_all(self.directory)), ["A2", "A9a", "A9b", "A10", "P5"])
