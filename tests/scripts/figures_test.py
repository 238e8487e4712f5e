"""Tests the command line with the real program: killed, resumed and refused runs."""

import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

from fixtures import FIGURES, ROOT, InADirectory

import figures
from experiments.files import alone, read_rows
from experiments.runner import logjam_of

# Axes and options may be mixed.
SWEEP = ["workload=ycsb", "log=centr,eleda", "--tries=1", "threads=1,2", "rounds=3"]
SHORT = ["--", "--seconds=0.05", "--warmup=0", "--device=null", "--ycsb_records=1000", "--noverify",
         "--log_buffer_mb=1"]


@unittest.skipUnless(os.environ.get("LOGJAM"), "LOGJAM names no binary")
class Figures(InADirectory):
    def sweep(self, *words, check=True):
        return self.run_figures("sweep", f"--out={self.directory}/x.csv",
                                f"--wal_dir={self.directory}", *words, check=check)

    def assert_one_sentence(self, done):
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_a_sweep_has_a_row_for_each_point_and_round(self):
        self.sweep(*SWEEP, *SHORT)
        rows = read_rows(self.directory / "x.csv")
        keys = {(row["round"], row["axis_log"], row["axis_threads"]) for row in rows}
        self.assertEqual((len(rows), len(keys)), (12, 12))
        self.assertTrue(all(row["log"] == row["axis_log"] and row["tps"] for row in rows))

    def test_a_killed_sweep_goes_on_and_leaves_no_log_files(self):
        command = [sys.executable, str(FIGURES), "sweep", f"--out={self.directory}/x.csv",
                   f"--wal_dir={self.directory}", *SWEEP, *SHORT]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            while not (self.directory / "x.csv").exists():
                time.sleep(0.01)
            run.send_signal(signal.SIGKILL)
        before = len(read_rows(self.directory / "x.csv"))
        self.assertLess(before, 12)
        self.sweep(*SWEEP, *SHORT)
        rows = read_rows(self.directory / "x.csv")
        keys = {(row["round"], row["axis_log"], row["axis_threads"]) for row in rows}
        self.assertEqual((len(rows), len(keys)), (12, 12))
        self.assertEqual([path.name for path in self.directory.iterdir()], ["x.csv"])

    def test_one_sweep_at_a_time_works_on_a_file_and_in_a_directory(self):
        other = self.directory / "other"
        for place, words in ((self.directory / "x.csv", [f"--wal_dir={other}"]),
                             (self.directory / "logjam-figures", [f"--out={other}/y.csv"])):
            with self.subTest(place=place), alone(place):
                done = self.sweep(*SWEEP, *words, *SHORT, check=False)
                self.assert_one_sentence(done)
                self.assertIn(f"{place} is in use by another process", done.stderr)
        self.assertEqual(list(self.directory.rglob("*.csv")), [])

    def test_a_place_where_nothing_can_be_written_is_named(self):
        for words in ([f"--out={ROOT}/README.md/x.csv"], [f"--wal_dir={ROOT}/README.md/wal"],
                      ["--out=/proc/x.csv"]):
            with self.subTest(words=words):
                done = self.sweep(*SWEEP, *words, *SHORT, check=False)
                self.assert_one_sentence(done)
                self.assertIn("nothing can be written in", done.stderr)

    def test_what_logjam_refuses_is_left_out_and_said(self):
        done = self.sweep("log=centr,scm", "rounds=1", "--tries=1", *SHORT)
        self.assertRegex(done.stdout, "^left out 1: log=scm: --log=scm [^\n]*needs --device=nvm")
        self.assertEqual(len(read_rows(self.directory / "x.csv")), 1)

    def test_mistakes_get_one_sentence_and_status_2(self):
        for words in (["sweep", "--out=x", "threads"], ["sweep", "--out=x", "rounds=x", "log=centr"],
                      ["sweep", "--out=x", "log=centr", "--", "--log=eleda"], ["run", "X1"], ["run"],
                      ["run", "--all", "P7"], ["check", "P7", f"--results={self.directory}"],
                      ["sweep", "--out=x", "log=centr", "--logjam=/nowhere"],
                      ["list", "--", "--seconds=1"]):
            with self.subTest(words=words):
                done = self.run_figures(*words, check=False)
                self.assert_one_sentence(done)

    def test_the_table_says_how_many_rounds_each_point_got_and_which_are_not_narrow(self):
        for percent, narrow in ((1e9, True), (1e-9, False)):
            done = self.sweep("log=centr,eleda", f"rounds=auto:{percent:.9f}%", "budget=1s",
                              "--tries=1", "--fresh", *SHORT)
            heading, *lines = done.stdout.splitlines()[:3]
            self.assertRegex(heading, "rounds$")
            for line in lines:
                self.assertEqual("not within" not in line, narrow, line)
        done = self.sweep("log=centr", "rounds=auto:5%", "--submit=slurm", check=False)
        self.assertEqual(done.returncode, 2)

    def test_options_that_are_nearly_right_are_answered_with_what_to_write(self):
        for words, answer in ((["--rounds=5"], "--rounds=5: write rounds=5, without dashes"),
                              (["--rounds", "5"], "--rounds: write rounds=N, without dashes"),
                              (["--threads=1,2"], "write threads=1,2 to sweep over it"),
                              (["--log=centr"], "after -- (-- --log=centr)"),
                              (["--waldir=x"], "did you mean --wal_dir?")):
            with self.subTest(words=words):
                done = self.sweep("workload=ycsb", *words, *SHORT, check=False)
                self.assert_one_sentence(done)
                self.assertIn("sweep.sh: ", done.stderr)
                self.assertIn(answer, done.stderr)

    def test_a_sweep_and_a_list_write_nothing_among_the_sources(self):
        tree = self.directory / "tree"
        for folder in ("scripts", "config"):
            shutil.copytree(ROOT / folder, tree / folder,
                            ignore=shutil.ignore_patterns("__pycache__"))
        before = sorted(tree.rglob("*"))
        env = {**os.environ}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        for words in (["sweep", f"--out={self.directory}/x.csv", "log=centr", "rounds=1",
                       "--tries=1", f"--wal_dir={self.directory}", f"--logjam={logjam_of()}",
                       *SHORT], ["list"]):
            subprocess.run([sys.executable, tree / "scripts/figures.py", *words], check=True,
                           env=env, stdout=subprocess.DEVNULL)
        after = [path for path in sorted(tree.rglob("*"))
                 if path.relative_to(tree).parts[0] != "build"]
        self.assertEqual(after, before)

    def test_the_usage_of_a_sweep_is_that_of_sweep_sh(self):
        for words in (["--help"], ["log=centr"], []):
            done = self.run_figures("sweep", *words, check=False)
            self.assertRegex(done.stdout + done.stderr, r"^usage: scripts/sweep.sh --out=FILE")
            self.assertNotIn("figures.py", done.stdout + done.stderr)

    def test_a_sweep_compared_with_itself_has_not_moved(self):
        self.sweep(*SWEEP, *SHORT)
        done = self.run_figures("compare", self.directory / "x.csv", self.directory / "x.csv")
        self.assertIn("0 changes in 1 experiments", done.stdout)

    def test_what_a_reader_runs_is_not_among_the_reference_runs(self):
        parser = figures.arguments()
        reference = str(ROOT / "results")
        for words in (["run", "P7"], ["plot", "P7"], ["check", "P7"]):
            self.assertNotEqual(parser.parse_args(words).results, reference)
        self.assertEqual(parser.parse_args(["report"]).results, reference)
