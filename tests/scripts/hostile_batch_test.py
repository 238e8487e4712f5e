"""Tests that a batch uses no file outside its directory, and removes only its own files."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import unittest

from batch_test import Batches
from fixtures import LONGEST_SECONDS

from experiments import batch, plan, store, submit
from experiments.files import alone
from experiments.errors import Refused


class HostileBatch(Batches):
    def setUp(self):
        super().setUp()
        self.victim = self.directory / "elsewhere" / "victim.csv"
        self.victim.parent.mkdir()
        self.victim.write_text("precious")
        self.made = self.make()

    def tearDown(self):
        self.assertEqual(self.victim.read_text(), "precious")
        self.assertEqual(list(self.victim.parent.iterdir()), [self.victim])

    def planted(self, sign=True, **changes):
        """Replaces fields of plan.json. If `sign` is true, also corrects the plan's fingerprint."""
        said = {**self.made.plan, **changes}
        if sign:
            said["fingerprint"] = plan.fingerprint(said)
        (self.made.folder / "plan.json").write_text(json.dumps(said))

    def planted_flags(self, command="run", prepare=None, **flags):
        point = {**self.made.jobs[0]["point"], "flags": flags, "command": command,
                 "prepare": prepare}
        self.planted(jobs=[{"round": 1, "point": point}])

    def ended(self, *words):
        """Runs figures.py with these words, and returns the one sentence of its refusal."""
        done = self.run_figures(*words, check=False)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stderr

    def test_a_plan_of_another_form_is_no_batch(self):
        job = self.made.jobs[0]
        for changes in ({"name": 1}, {"name": "a\nb"}, {"name": "../x"}, {"tries": "1"},
                        {"tries": -1}, {"tries": True}, {"tries": 10 ** 30},
                        {"csv": "x.csv"}, {"csv": None},
                        {"csv": "/a/../b.csv"}, {"csv": "/a\0b"}, {"csv": "/\ud800"},
                        {"wal_dir": ""}, {"wal_dir": "/a/../b"}, {"wal_dir": 7},
                        {"directory": "."}, {"skip_refused": 1}, {"binary": []}, {"jobs": []},
                        {"jobs": {}}, {"jobs": [None]}, {"jobs": [{**job, "round": "1"}]},
                        {"jobs": [{**job, "round": 1.5}]}, {"jobs": [{**job, "more": 1}]},
                        {"more": 1}, *({"jobs": [{**job, "point": {**job["point"], **wrong}}]}
                                       for wrong in (
                            {"command": "machine"}, {"command": "--help"}, {"flags": []},
                            {"flags": {"a b": 1}}, {"flags": {"a": [1]}},
                            {"flags": {"a": {"b": {}}}}, {"axes": {"log": 1}}, {"axes": None},
                            {"prepare": 0}, {"index": None},
                            {"more": 1}))):
            with self.subTest(changes=changes), self.assertRaisesRegex(Refused, "is not a batch"):
                self.planted(**changes)
                batch.Batch(self.made.folder)
        for content in ("", "{", "null", "[]", "\0", "[" * 100000, "9" * 5000, '{"a": 1'):
            with self.subTest(content=content[:9]), self.assertRaisesRegex(Refused, "not a batch"):
                (self.made.folder / "plan.json").write_text(content)
                batch.Batch(self.made.folder)

    def test_a_plan_that_was_changed_is_no_batch(self):
        self.planted(sign=False, csv=str(self.victim))
        with self.assertRaisesRegex(Refused, "was changed after it was made"):
            batch.Batch(self.made.folder)

    def test_a_plan_leads_to_no_csv_elsewhere_unless_the_command_line_names_it(self):
        new = self.victim.with_name("new.csv")
        self.run_all(self.made)
        self.planted(csv=str(new))
        self.assertIn(f"--into={new} says", self.ended("merge", self.made.folder))
        self.assertIn("not to", self.ended("merge", self.made.folder, f"--into={self.csv}"))
        self.assertIn("rows are missing", self.run_figures(
            "merge", self.made.folder, f"--into={new}", check=False).stderr)

    def test_a_plan_leads_to_no_log_elsewhere_unless_the_command_line_names_it(self):
        for wal_dir in (str(self.victim.parent), "~", "$HOME/x"):
            with self.subTest(wal_dir=wal_dir):
                self.planted(wal_dir=wal_dir)
                self.assertIn("--wal_dir=", self.ended("task", self.made.folder, "0"))
                self.assertIn("not to", self.ended("task", self.made.folder, "0", "--wal_dir=/tmp"))

    def test_the_flags_of_a_job_lead_nowhere(self):
        for flags in ({"csv": str(self.victim)}, {"json": "../x"}, {"history": "{dir}/../../x"},
                      {"wal_dir": str(self.victim.parent), "overwrite": True}, {"wal_dir": None},
                      {"flagfile": str(self.victim)}, {"flagfile": "{config}/../x"},
                      {"flagfile": "{config}/tpcc.flags,/x"}, {"fromenv": "csv"},
                      {"trace": str(self.victim)}, {"record": str(self.victim)},
                      {"prepare": {"history": "/x"}, "command": "recover"}):
            with self.subTest(flags=flags):
                self.planted_flags(**flags)
                with self.assertRaises(Refused):
                    batch.Batch(self.made.folder).run(0)
        self.assertFalse(list(self.made.rows.iterdir()))

    def test_a_file_of_a_batch_that_is_a_link_or_a_fifo_is_refused(self):
        self.run_all(self.made, but=(0,))
        for name in ("logjam", "plan.json", "merged", "slurm_jobs", "hosts", "array.sbatch",
                     "rows/00000.json", "rows/00001.json", "logs/00000.log", "logs/merge.log",
                     "logs/parallel.log", "rows", "logs"):
            path, aside = self.made.folder / name, self.directory / "aside"
            if path.exists():
                path.rename(aside)
            target = self.victim.parent if name in batch.FOLDERS else self.victim
            makers = [lambda: path.symlink_to(target), lambda: path.symlink_to("/dev/zero"),
                      lambda: path.symlink_to(self.victim.with_name("no"))]
            for make in makers + ([] if name in batch.FOLDERS else [lambda: os.mkfifo(path)]):
                make()
                with self.subTest(name=name, kind=os.lstat(path).st_mode):
                    for use in (self.make, lambda: self.make(fresh=True),
                                lambda: batch.Batch(self.made.folder).merge(),
                                lambda: batch.Batch(self.made.folder).run(0)):
                        with self.assertRaisesRegex(Refused, "is a "):
                            use()
                path.unlink()
            if aside.exists():
                aside.rename(path)

    def test_a_row_of_another_form_is_not_whole(self):
        self.run_all(self.made)
        path = self.made.rows / "00004.json"
        whole = json.loads(path.read_text())
        row = whole["row"]
        for wrong in ({"cores": None}, {"cores": "2"}, {"cores": True}, {"host": ""}, {"host": 1},
                      {"job": "4"}, {"plan": None}, {"extras": {"../x": []}},
                      {"extras": {"no": []}}, {"extras": {"cdf": {}}}, {"extras": {"cdf": [1]}},
                      {"row": {}},
                      {"row": {**row, "round": "7"}}, {"row": {**row, "axis_log": "x"}},
                      {"row": {**row, "tps": 1}}, {"row": {**row, "tps": "1\0"}},
                      {"row": {**row, "tps": "\ud800"}}, {"row": [row]}, {"refused": 1}):
            with self.subTest(wrong=wrong):
                path.write_text(json.dumps({**whole, **wrong}))
                self.assertIn("00004.json is not whole", self.refused_merge(self.made))
        for name in ("cores", "host", "row", "extras", "job", "plan"):
            with self.subTest(without=name):
                path.write_text(json.dumps({key: of for key, of in whole.items() if key != name}))
                self.assertIn("00004.json is not whole", self.refused_merge(self.made))

    def test_files_of_others_in_a_merged_batch_stay_and_are_named(self):
        self.run_all(self.made)
        self.made.merge()
        notes = [self.made.folder / name for name in
                 ("mynotes", "rows/1.json.bak", "logs/mine/deep", ".hidden", "plan.json.old")]
        for path in notes:
            path.parent.mkdir(exist_ok=True)
            path.write_text("precious")
        (self.made.folder / "link").symlink_to(self.victim)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            more = self.make(rounds=3)
        for path in (*notes, self.made.folder / "link"):
            self.assertTrue(os.path.lexists(path), path)
        for name in ("mynotes", "rows/1.json.bak", "logs/mine", ".hidden", "plan.json.old", "link"):
            self.assertRegex(said.getvalue(), rf"no batch made them: .*{name}")
        self.assertEqual(more.missing(), [0, 1, 2, 3])
        self.run_all(more)
        more.merge()
        self.assert_merged_once(12)

    def test_a_batch_s_directory_that_is_a_link_is_refused(self):
        shutil.rmtree(self.made.folder)
        self.made.folder.symlink_to(self.victim.parent)
        with self.assertRaisesRegex(Refused, "quick.batch is a link"):
            self.make()

    def test_a_merge_waits_for_no_other_and_loses_no_row(self):
        self.run_all(self.made)
        with alone(self.csv):
            self.assertIn("is in use", self.refused_merge(self.made))
        self.made.merge()
        self.assert_merged_once()


ROW_OF_ONE = """#!/bin/sh
for word; do case $word in --csv=*) printf 'tps\\n1\\n' >"${word#--csv=}" ;; esac; done
"""


class OddNames(Batches):
    """Batches in directories whose names are special in `parallel`, `sbatch` or `sh`."""

    names = ("a{}b", "{.}{/}{//}{/.}{+/}", "{#}{%}{1}{-1}{=$_=1=}", "%j%a%A%%", "it's {''} \"x\"",
             "$(touch y)`touch y`;touch y", "-x", "a  b", "*?[x]")

    def made_in(self, name):
        self.csv = self.directory / name / "quick.csv"
        self.csv.parent.mkdir(parents=True)
        rows = store.Store(self.csv)
        return batch.make(self.csv.with_suffix(".batch"), self.experiment,
                          [(1, self.points[0])], self.logjam, rows, tries=1, fresh=False,
                          skip_refused=False, wal_dir=f"{self.directory}/wal/{name}")

    @unittest.skipUnless(shutil.which("parallel"), "GNU parallel is not installed")
    def test_parallel_runs_a_job_in_each(self):
        self.logjam.write_text(ROW_OF_ONE)
        for name in self.names:
            with self.subTest(name=name):
                made = self.made_in(name)
                with alone(made.folder) as lock:
                    submit._to_hosts(made, [0], ":", lock)
                self.assertEqual(made.missing(), [], self.saying(made))
        self.assertFalse((self.directory / "y").exists())

    @staticmethod
    def saying(made):
        return [path.read_text() for path in made.logs.iterdir()]

    def test_the_scripts_for_slurm_name_the_files_of_each(self):
        for name in self.names:
            with self.subTest(name=name):
                words = submit._words(self.made_in(name))
                script = submit.MERGE.format(**words).replace("exec ", 'printf "%s\\n" ', 1)
                script = script.replace(f">{words['logs']}/merge.log 2>&1", "")
                done = subprocess.run(["bash", "-c", script], capture_output=True, text=True,
                                      check=True, timeout=LONGEST_SECONDS, cwd=self.directory)
                self.assertEqual(done.stdout.splitlines()[1:], [
                    "merge", str(self.csv.with_suffix(".batch")), f"--into={self.csv}"])
        self.assertFalse((self.directory / "y").exists())

    def test_a_name_with_a_control_character_is_refused_before_anything_starts(self):
        for name in ("a\tb", "a\nb", "a\x1b[0m", "\udcff"):
            with self.subTest(name=name), self.assertRaisesRegex(Refused, "control character"):
                self.made_in(name)
            self.assertFalse(self.csv.with_suffix(".batch").exists())
