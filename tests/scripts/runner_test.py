"""The runner, with the real program."""

import os
import pathlib
import unittest

from experiments.definition import Point
from experiments.runner import Runner, logjam_of
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
