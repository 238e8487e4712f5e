"""Tests that docs/EXPERIMENTS.md lists the columns that a sweep adds to logjam's own columns."""

import os
import re
import subprocess
import unittest

from fixtures import ROOT
from sim_runner_test import WithAMachine, two_by_two

from experiments import round_loop, runner, store, sweep
from experiments.definition import Point

FIRST = ["--workload=ycsb", "--ycsb_records=1000", "--device=sim:0", "--transactions=20",
         "--noverify"]
WRITE = {"workload": "ycsb", "ycsb_records": 1000, "device": "sim:0", "transactions": 20,
         "verify": False, "seconds": 60, "wal_dir": "{dir}/0"}


def documented(kind):
    """Returns the columns that docs/EXPERIMENTS.md lists for native or simulated rows."""
    page = (ROOT / "docs" / "EXPERIMENTS.md").read_text(encoding="utf-8")
    return {name for name, of in re.findall(r"^\| `(\S+)` \| (all|native|simulated) \|", page, re.M)
            if of in ("all", kind)}


def added(row, own):
    """Returns the columns of a row that are not in `own`, logjam's own columns."""
    return {re.sub("^axis_.*", "axis_<name>", name) for name in row} - own


@unittest.skipUnless(os.environ.get("LOGJAM"), "LOGJAM names no binary")
class ColumnsOfRows(WithAMachine):
    def own_columns(self, command, *flags):
        rows = self.directory / f"{command}.csv"
        subprocess.run([runner.logjam_of(), command, *flags, f"--wal_dir={self.directory}/own",
                        f"--csv={rows}"], capture_output=True, check=True)
        return set(rows.read_text(encoding="utf-8").splitlines()[0].split(","))

    def test_the_page_has_the_columns_of_native_rows(self):
        own = self.own_columns("run", *FIRST, "--seconds=60") | self.own_columns("recover")
        rows = store.Store(self.directory / "x.csv")
        with runner.Runner(runner.logjam_of(), self.directory, tries=1) as made:
            points = sweep.sweep(["log=centr"], [*FIRST, "--seconds=60"]).points("full")
            round_loop.run_jobs("sweep", [(1, points[0])], [(made, rows)], round_loop.Progress(1))
            recovered = Point(0, {}, "recover", {"verify": False}, WRITE)
            of_recovery = set(made.run(recovered).row)
        self.assertEqual(added(rows.rows[0], own), documented("native"))
        page = (ROOT / "docs" / "EXPERIMENTS.md").read_text(encoding="utf-8")
        for name in of_recovery - own - documented("native"):
            self.assertIn(f"`{name}`", page)
        self.assertTrue(of_recovery - own - documented("native"))

    def test_the_page_has_the_columns_of_simulated_rows(self):
        self.run_jobs(two_by_two())
        own = {"log", "threads", "seconds", "tps", "inserts_s", "mb_s", "revision", "machine"}
        self.assertEqual(added(self.rows.rows[0], own), documented("simulated"))
