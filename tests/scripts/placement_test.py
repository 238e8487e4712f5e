"""The tables of tests/golden/placement.md are what the program says today."""

import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class PlacementTest(unittest.TestCase):
    def test_the_tables_of_placements_are_those_of_the_program(self):
        logjam = os.environ.get("LOGJAM", ROOT / "build/logjam")
        made = subprocess.run([sys.executable, ROOT / "scripts/placement.py", f"--logjam={logjam}"],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertEqual(made, (ROOT / "tests/golden/placement.md").read_text(encoding="utf-8"))
