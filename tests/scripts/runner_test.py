"""Tests the runner with the real program, and the runner's messages about other programs."""

import io
import os
import pathlib
import sys
import unittest
from unittest import mock

from experiments import idle_watch, round_loop
from experiments.definition import Point
from experiments.runner import Outcome, Runner, disturbed, file_system_of, logjam_of
from fixtures import InADirectory

WRITE = {"workload": "ycsb", "ycsb_records": 1000, "device": "sim:0", "threads": 1, "seconds": 60,
         "verify": False, "wal_dir": "{dir}/0"}


@unittest.skipUnless(os.environ.get("LOGJAM"), "LOGJAM names no binary")
class TheRunner(InADirectory):
    def recovery(self, runner, transactions):
        row = runner.run(Point(0, {}, "recover", {"verify": False},
                               {**WRITE, "transactions": transactions})).row
        longest = max(path.stat().st_size for path in self.directory.rglob("stream-*"))
        return int(row["bytes"]), longest

    def test_a_recovery_finds_no_file_of_an_earlier_longer_log(self):
        with Runner(logjam_of(), self.directory, tries=1) as runner:
            long_log, long_file = self.recovery(runner, 4000)
            log, file = self.recovery(runner, 40)
        self.assertGreater(long_file, long_log)
        self.assertGreater(long_log, 50 * log)
        self.assertLess(file, 2 * log)

    def test_the_directories_go_at_the_end(self):
        with Runner(logjam_of(), self.directory, tries=1) as runner:
            runner.run(Point(0, {}, "run", {**WRITE, "transactions": 10}))
            self.assertTrue(list(self.directory.rglob("stream-*")))
        self.assertEqual(list(pathlib.Path(self.directory).iterdir()), [])


class Memory(InADirectory):
    def told_of(self, *points, wal_dir):
        told = []
        with Runner(sys.executable, wal_dir, tries=1) as runner:
            runner.tell = lambda words, passing=False: told.append(words)
            runner._run_once = lambda point: Outcome({}, {})
            for point in points:
                runner.run(point)
        return told

    def test_a_log_in_memory_that_stands_for_a_disk_is_said_once(self):
        disk, waiting = Point(0, {}, "run", {}), Point(1, {}, "run", {"device": "sim:20"})
        recovery = Point(2, {}, "recover", {}, {"device": "file:"})
        shared = f"/dev/shm/{self.directory.name}/x"  # no program makes this directory
        memory = Point(3, {}, "run", {"device": "sync", "wal_dir": shared})
        there = ("/dev/shm", str(self.directory))
        kinds = lambda path: "tmpfs" if str(path).startswith(there) else "ext4"
        with mock.patch("experiments.runner.file_system_of", kinds):
            said = [f"{self.directory} is on tmpfs, which measures no disk"]
            self.assertEqual(self.told_of(waiting, disk, disk, wal_dir=self.directory), said)
            self.assertEqual(self.told_of(recovery, wal_dir=self.directory), said)
            self.assertEqual(self.told_of(waiting, wal_dir=self.directory), [])
        with mock.patch("experiments.runner.file_system_of",
                        lambda path: "tmpfs" if path == os.path.dirname(shared) else "ext4"):
            self.assertEqual(self.told_of(disk, wal_dir=self.directory), [])
            self.assertEqual(self.told_of(memory, wal_dir=self.directory),
                             [f"{shared} is on tmpfs, which measures no disk"])

    def test_file_systems_are_told_apart(self):
        self.assertEqual((file_system_of("/proc"), file_system_of("/nowhere")), ("proc", ""))


class Machine:
    """Replaces idle_watch.Watch. Reports that other programs use these shares of the cores."""

    def __init__(self, *shares):
        self._shares = list(shares)

    def __call__(self):
        return self

    def others(self):
        return self._shares.pop(0)

    def switches(self):
        return 0


class Others(InADirectory):
    def run_among(self, *shares, tries=3):
        """Runs on this Machine. Returns the messages during the run, and the sentence after it."""
        told = []
        with mock.patch.object(idle_watch, "Watch", Machine(*shares)), \
                mock.patch.object(idle_watch.time, "sleep"), \
                Runner(sys.executable, self.directory, tries) as runner:
            runner.tell = lambda words, passing=False: told.append(words)
            runner._run_once = lambda point: Outcome({}, {})
            runner.run(Point(0, {"log": "centr"}, "run", {}))
            return told, disturbed([runner])

    def test_a_wait_and_a_second_try_are_said(self):
        told, after = self.run_among(0.63, 0, 0.4, 0, 0)
        self.assertEqual(told, [
            "waiting for idle cores: others use 63 %",
            "thrown away, others used 40 % of the cores; try 2 of 3: log=centr"])
        self.assertIn("1 more were thrown away", after)
        self.assertNotIn("kept", after)

    def test_what_is_kept_though_it_was_disturbed_is_counted(self):
        told, after = self.run_among(0, 0.4, 0, 0.5, tries=2)
        self.assertEqual(len(told), 1)
        self.assertIn("1 disturbed runs were kept after --tries=2", after)
        self.assertEqual(self.run_among(0.9, tries=1)[0], [])

    def test_a_log_file_has_each_second_try_and_not_each_look(self):
        with mock.patch("sys.stderr", io.StringIO()) as stderr, \
                mock.patch.object(round_loop.time, "monotonic", lambda: 100.0):
            progress = round_loop.Progress(1)
            for _ in range(9):
                progress.tell("waiting", passing=True)
            progress.tell("thrown away")
            progress.tell("thrown away")
        self.assertEqual(stderr.getvalue().splitlines(), ["waiting", "thrown away", "thrown away"])

    def test_a_terminal_has_one_line_of_what_passes(self):
        with mock.patch("sys.stderr", io.StringIO()) as stderr:
            stderr.isatty = lambda: True
            progress = round_loop.Progress(1)
            progress.step("round 1")
            progress.tell("waiting", passing=True)
            progress.tell("thrown away")
        self.assertEqual(stderr.getvalue().replace("\r\033[K", "|"),
                         "|1 of 1: round 1|1 of 1: round 1: waiting|thrown away\n1 of 1: round 1")
