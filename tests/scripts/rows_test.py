"""Tests that other programs, without special options, can read the rows of all commands."""

import csv
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import pandas

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOGJAM = os.path.realpath(os.environ.get("LOGJAM", ROOT / "build/logjam"))
LOG = ["--wal_dir=log", "--log_prealloc_mb=1", "--log_buffer_mb=1", "--threads=1", "--warmup=0",
       "--seconds=3600"]
# A value with all characters that a CSV cell must quote. The flags in each row contain it.
ODD = 'a, "b"\nc.json'


class RowsTest(unittest.TestCase):
    def test_pandas_reads_the_rows_of_all_commands_without_options(self):
        commands = {
            "run": [*LOG, "--workload=tpcb", "--tpcb_branches=1", "--tpcb_accounts=500",
                    "--transactions=20"],
            "recover": ["--wal_dir=log"],
            "dump": ["--wal_dir=log"],
            "micro": ["--device=null", "--threads=1", "--transactions=9"],
            "device": ["--wal_dir=other", "--seconds=0.001"],
        }
        with tempfile.TemporaryDirectory() as directory:
            os.mkdir(os.path.join(directory, "other"))
            os.mkdir(os.path.join(directory, "log"))
            for command, flags in commands.items():
                for turn in range(2):
                    subprocess.run([LOGJAM, command, *flags, *["--overwrite"][:command == "run"],
                                    f"--csv={command}.csv", f"--json={ODD}"],
                                   cwd=directory, check=True, capture_output=True)
                path = os.path.join(directory, command + ".csv")
                read = pandas.read_csv(path)
                with open(path, newline="", encoding="utf-8") as file:
                    rows = list(csv.DictReader(file))
                self.assertEqual(list(read.columns), list(rows[0]))
                self.assertEqual(len(read), len(rows))
                self.assertGreaterEqual(len(rows), 2)
                self.assertIn(ODD, read["flags"].iloc[-1])
                for name in read.columns:
                    for seen, text in zip(read[name], (row[name] for row in rows)):
                        # pandas reads the device `null` as an empty cell (docs/OUTPUT.md).
                        self.assertEqual(pandas.isna(seen), text in ("", "null"), name)
            with open(os.path.join(directory, ODD), encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
            lines_read = pandas.read_json(os.path.join(directory, ODD), lines=True)
            self.assertEqual(len(lines_read), len(lines))
            self.assertIn(ODD, lines_read["flags"].iloc[-1])
