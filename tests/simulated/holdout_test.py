"""Tests the hold-out's statistics on few numbers, and that each point's machine and kind exist."""

import math
import os
import pathlib
import subprocess
import tempfile
import unittest

from fixtures import ROOT

import holdout

from experiments import tomllib
from experiments.errors import Refused
from experiments.files import read_rows

LOGJAM_SIM = pathlib.Path(os.environ.get("LOGJAM_SIM", ROOT / "build-sim" / "logjam"))


def points(curves="david"):
    return read_rows(ROOT / f"config/holdout/{curves}.csv")


def settings(curves="david"):
    return tomllib.loads((ROOT / f"config/holdout/{curves}.toml").read_text())["machines"]


def manycore():
    return tomllib.loads((ROOT / "config/holdout/manycore.toml").read_text())


def script(*words):
    return subprocess.run([ROOT / "scripts/holdout.py", f"--logjam={LOGJAM_SIM}", *words],
                          capture_output=True, text=True)


NEEDS_BINARY = unittest.skipUnless(os.environ.get("LOGJAM"), "LOGJAM names no binary")


class Holdout(unittest.TestCase):
    def test_twice_and_half_are_equal_errors(self):
        count, median, p90, ratio, rank, *_ = holdout.summary([[(1, 2), (4, 2), (8, 16)]])
        self.assertEqual(count, 3)
        self.assertAlmostEqual(median, math.log(2))
        self.assertAlmostEqual(p90, math.log(2))
        self.assertAlmostEqual(ratio, 2)
        self.assertAlmostEqual(rank, math.sqrt(3) / 2)

    def test_the_shape_has_the_errors_that_one_factor_for_each_curve_leaves(self):
        for curves, median, p90 in (([[(1, 2), (2, 4), (3, 6)]], 0, 0),
                                    ([[(1, 2), (1, 2), (1, 8)], [(1, 9)]], 0, 0.8 * math.log(4)),
                                    ([[(1, 1), (1, 1)], [(1, 3), (1, 3)]], 0, 0)):
            self.assertAlmostEqual(holdout.summary(curves)[5], median)
            self.assertAlmostEqual(holdout.summary(curves)[6], p90)
        self.assertEqual(holdout.summary([[(1, 2)]])[5:], (None, None))

    def test_equal_ranks_are_shared_and_a_flat_curve_has_no_correlation(self):
        self.assertAlmostEqual(holdout.summary([[(1, 1), (2, 3), (3, 2), (4, 4)]])[4], 0.8)
        self.assertAlmostEqual(holdout.summary([[(5, 1), (1, 0.5), (5, 1)]])[4], 1)
        self.assertIsNone(holdout.summary([[(1, 2), (1, 3)]])[4])

    def test_the_rank_correlation_of_several_curves_is_the_median_of_theirs(self):
        rising, falling = [(1, 2), (2, 4)], [(100, 400), (200, 100)]
        self.assertAlmostEqual(holdout.summary([rising, falling])[4], 0)
        self.assertAlmostEqual(holdout.summary([rising, rising, falling, [(1, 1)]])[4], 1)
        self.assertIsNone(holdout.summary([[(1, 1)]])[4])

    def test_a_curve_and_the_sums_of_its_machine_and_of_all_have_a_line(self):
        rows = [{"machine": "m", "figure": "4", "curve": "FAI", "lines": "1", "threads": "32",
                 "published": "2"},
                {"machine": "m", "figure": "8", "curve": "CLH", "lines": "16", "threads": "31",
                 "published": "3"}]
        lines = holdout.table(holdout.curves([(row, 4.0) for row in rows]))
        self.assertEqual([line[0] for line in lines], ["m", "m", "m", "m", "all", "all", "all"])
        self.assertIn("all atomics, 32 threads and more", [line[1] for line in lines])
        self.assertIn("Fig. 8 best lock, 16 locks", [line[1] for line in lines])
        self.assertEqual(lines[0][2:], [1, 0.69, 0.69, 2.0, None, None, None])

    def test_curves_without_a_figure_have_their_own_names_and_belong_to_atomics_or_locks(self):
        rows = [{"machine": "m", "figure": figure, "curve": curve, "lines": "1", "threads": "1",
                 "published": "2"} for figure, curve in (("atomics", "atomic add"), ("locks", "ticket spin"))]
        self.assertEqual(list(holdout.curves([(row, 4.0) for row in rows])), [
            ("m", "atomic add"), ("m", "ticket spin, 1 lock"), ("m", "all atomics"),
            ("m", "all locks"), ("all", "all atomics"), ("all", "all locks")])

    def test_a_kind_may_replace_a_number_of_the_profile(self):
        simulation = holdout.Simulation("", settings("downs"), 0.001, 1, "occupancy=0.3")
        self.assertIn("--set=occupancy=0.3,pause_cycles=1",
                      simulation.flags("w2104", "ticket", 1, 4))
        self.assertIn("--set=occupancy=0.3", simulation.flags("w2104", "faa", 1, 4))
        self.assertIn("--primitive=faa:1:0.0", simulation.flags("graviton2", "faa", 1, 16))

    def test_a_fit_takes_the_value_that_is_nearest_to_the_atomics_and_does_not_look_at_locks(self):
        class Fake:
            asked = []

            def __init__(self, change):
                self._value = float(change.removeprefix("hold="))

            def value(self, row):
                self.asked.append(row["figure"])
                return math.exp(-abs(self._value - 0.7))

        rows = [{"figure": figure, "published": "1"} for figure in ("4", "5", "4")]
        self.assertEqual(holdout.fit("hold", rows, Fake), "hold=0.7")
        self.assertEqual(set(Fake.asked), {"4"})
        with self.assertRaises(Refused):
            holdout.fit("hold", rows[1:2], Fake)

    def test_pauses_grow_with_the_distance_and_prices_are_those_of_the_kind(self):
        simulation = holdout.Simulation("", settings(), 0.001, 1, "occupancy=0.3")
        flags = simulation.flags("opteron4x12", "faa", 1, 6)
        self.assertIn("--primitive=faa:1:52.4", flags)  # 110 cycles at 2.1 GHz
        self.assertIn("--set=occupancy=0.3", flags)
        self.assertIn("--primitive=faa:1:102.9", simulation.flags("opteron4x12", "faa", 1, 12))
        self.assertIn("--primitive=faa:1:141.0", simulation.flags("opteron4x12", "faa", 1, 48))
        self.assertIn("--primitive=faa:1:0.0", simulation.flags("opteron4x12", "faa", 1, 1))
        self.assertIn("--primitive=tas:512:0.0", simulation.flags("t5120", "tas", 512, 64))
        self.assertIn("--set=occupancy=0.3,rmw_cycles=31", simulation.flags("t5120", "tas", 1, 64))

    def test_every_point_names_a_machine_of_the_source_a_kind_and_a_source(self):
        for curves, least in (("david", 400), ("downs", 59)):
            rows = points(curves)
            self.assertGreater(len(rows), least)
            self.assertEqual({row["machine"] for row in rows}, set(settings(curves)))
            for row in rows:
                with self.subTest(row=row):
                    self.check(row)
            keys = [tuple(row[key] for key in ("machine", "figure", "curve", "lines", "threads"))
                    for row in rows]
            self.assertEqual(len(keys), len(set(keys)))

    def check(self, row):
        profile = tomllib.loads((ROOT / "config/machines" / f"{row['machine']}.toml").read_text())
        contexts = profile["sockets"] * profile["cores"] * profile["contexts"]
        self.assertLessEqual(int(row["threads"]), contexts)
        self.assertIn(row["sync"], {"faa", "cas", "cas-faa", "swap", "tas-once", "tas", "ticket",
                                    "ticket-backoff", "mcs", "clh", "best"})
        self.assertIn(row["source"], ("text", "plot"))
        self.assertGreater(float(row["published"]), 0)

    def test_a_prediction_has_the_flags_of_its_figure_its_curve_and_its_point(self):
        predictions = holdout.Predictions("x", manycore(), 3, "occupancy=0.3")
        row = {"machine": "hpe28", "figure": "no log", "curve": "occ, contexts first",
               "threads": "56", "set": "sockets=1", "flags": "--tpcc_warehouses=56"}
        words = predictions.flags(row).split()
        self.assertEqual(words[0], "run")
        for word in ("--log=none", "--cc=occ", "--tpcc_warehouses=56", "--machine=hpe28",
                     "--threads=56", "--set=sockets=1,occupancy=0.3", "--sim_seed=3"):
            self.assertIn(word, words)

    def test_predictions_come_from_the_row_and_from_the_report_of_accesses(self):
        row = {"calls": 30, "seconds": 0.5, "lines": 2, "pause_ns": 1e6, "threads": 1,
               "tps": 7.5, "transactions": 10}
        report = {"another socket": 1, "own memory": 2, "remote memory": 4,
                  "its complex's cache": 8, "another core": 16, "the core's second cache": 32}
        expected = (30e-6, 0.94, 7.5, 0.7, 3.1)
        for value, (unit, of) in zip(expected, holdout.PREDICTED.items()):
            with self.subTest(unit=unit):
                self.assertAlmostEqual(of(row, report), value)

    def test_a_run_of_several_points_runs_once_and_its_report_is_read(self):
        with tempfile.TemporaryDirectory() as directory:
            fake, count = (pathlib.Path(directory) / name for name in ("logjam", "count"))
            fake.write_text(f'''#!/bin/sh
                echo "$@" >> {count}
                echo '{{"transactions": 4, "unsteady": null, "machine": "simulated"}}' > row.json
                echo '{" " * 12}20  own memory
{" " * 12}4  remote memory
             0  another socket
             8  turns waited for; 3 of them gave others a turn' ''')
            fake.chmod(0o755)
            predictions = holdout.Predictions(fake, manycore(), 1, "")
            row = {"machine": "xeon5418n", "figure": "misses", "curve": "uniform", "threads": "2",
                   "set": "", "flags": "", "unit": next(
                       unit for unit in holdout.PREDICTED if "socket's caches" in unit)}
            self.assertEqual(predictions.value(row), (6, "", "simulated"))
            self.assertEqual(predictions.value(row), (6, "", "simulated"))
            (line,) = count.read_text().splitlines()
        self.assertIn(f"--machine={ROOT}/config/machines/xeon5418n.toml", line.split())
        self.assertIn("--report=accesses", line.split())

    def test_a_prediction_stands_beside_what_was_measured(self):
        point = {"machine": "m", "figure": "f", "curve": "c", "unit": "tps"}
        rows = [{**point, "threads": threads, "published": published}
                for threads, published in (("1", "10"), ("2", ""), ("4", "20"), ("8", "40"))]
        predictions = [{**point, "threads": threads, "value": value}
                       for threads, value in (("1", "5"), ("2", "6"), ("4", "20"))]
        self.assertEqual(holdout.compared(rows, predictions),
                         [["m", "f", "c", "1", "tps", 10, 5, 0.5, 1],
                          ["m", "f", "c", "4", "tps", 20, 20, 1, 2]])

    def test_every_point_to_predict_is_known(self):
        rows, known = points("manycore"), manycore()
        for row in rows:
            with self.subTest(row=row):
                self.assertIn(row["figure"], known["figures"])
                self.assertLessEqual(set(row["curve"].split(", ")), set(known["parts"]))
                self.assertIn(row["unit"], holdout.PREDICTED)
        self.assertEqual({row["figure"] for row in rows}, set(known["figures"]))
        self.assertEqual(len({tuple(row.values()) for row in rows}), len(rows))

    @NEEDS_BINARY
    def test_predictions_are_written_with_their_flags(self):
        with tempfile.TemporaryDirectory() as directory:
            out = pathlib.Path(directory) / "predictions.csv"
            done = script(f"--predict={out}", "--machine=opteron4x12")
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = read_rows(out)
            self.assertEqual(len(rows), len(done.stdout.splitlines()))
            for row in rows:
                self.assertGreater(float(row["value"]), 0)
                self.assertIn("simulated opteron4x12, 48 cores", row["simulated"])
                self.assertIn(f"--threads={row['threads']}", row["flags"].split())

    @NEEDS_BINARY
    def test_one_figure_of_one_machine_runs_on_the_simulated_machine(self):
        with tempfile.TemporaryDirectory() as directory:
            out = pathlib.Path(directory) / "points.csv"
            done = script("--machine=t5120", "--figure=8", "--seconds=0.0001", f"--points={out}")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.split()[:3], ["machine", "curve", "points"])
            self.assertEqual(len(done.stdout.splitlines()), 1 + 4 + 3)
            rows = read_rows(out)
            self.assertEqual(len(rows), 12)
            for row in rows:
                self.assertGreater(float(row["simulated"]), 0)

    @NEEDS_BINARY
    def test_the_curves_of_another_source_run_on_their_machine(self):
        done = script("--curves=downs", "--machine=w2104", "--seconds=0.0001")
        self.assertEqual(done.returncode, 0, done.stderr)
        order, curves = done.stdout.split("\n\n")
        self.assertEqual(order.split()[:2], ["pairs", "of"])
        self.assertEqual(len(curves.splitlines()), 1 + 3 + 2 + 2)

    @NEEDS_BINARY
    def test_a_fit_names_its_value_before_the_table(self):
        done = script("--curves=downs", "--machine=w2104", "--seconds=0.00002", "--fit=occupancy")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^w2104: occupancy=[01]\.\d\npairs of ")

    @NEEDS_BINARY
    def test_a_simulated_run_repeats_to_the_last_byte(self):
        for kind in ("faa", "tas", "ticket-backoff", "mcs:16", "clh"):
            words = [LOGJAM_SIM, "micro", f"--primitive={kind}", "--threads=24",
                     f"--machine={ROOT}/config/machines/westmere8x10.toml", "--seconds=0.0001",
                     "--warmup=0.00002", "--json=-"]
            rows = [subprocess.run(words, capture_output=True, text=True, check=True).stdout
                    for _ in range(2)]
            with self.subTest(kind=kind):
                self.assertIn('"calls"', rows[0])
                self.assertEqual(rows[0], rows[1])

    def test_an_unknown_machine_is_refused(self):
        done = script("--machine=pdp11")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, "holdout.py: there are no such points\n")


if __name__ == "__main__":
    unittest.main()
