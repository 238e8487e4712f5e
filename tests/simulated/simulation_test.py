"""Tests the simulated machine: its reports, every scheme, and equal output for equal flags."""

import json
import os
import pathlib
import re
import subprocess
import unittest

from fixtures import ROOT, InADirectory

import bound

from experiments.files import read_rows

LOGJAM_SIM = pathlib.Path(os.environ.get("LOGJAM_SIM", ROOT / "build-sim" / "logjam"))
LONGEST_SECONDS = 240
SHORT = ["--machine=milan2x64", "--cores=8", "--threads=4", "--seconds=0.002", "--warmup=0.0005",
         "--workload=ycsb", "--ycsb_records=2000", "--log_buffer_mb=1"]


class OfTheSimulation(InADirectory):
    def simulate(self, *words, check=True, where="wal", environment=None):
        done = subprocess.run(
            [LOGJAM_SIM, *words, f"--wal_dir={self.directory / where}"], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, check=False, timeout=LONGEST_SECONDS,
            env={**os.environ, **(environment or {})})
        if check and done.returncode != 0:
            self.fail(f"{words} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done

    def row(self, name, *words, **how):
        """Returns the CSV row of a run, without the flags, because flags name files."""
        path = self.directory / f"{name}.csv"
        self.simulate("run", *SHORT, *words, f"--csv={path}", where=name, **how)
        row = read_rows(path)[0]
        del row["flags"]
        return row


class Simulation(OfTheSimulation):
    def schemes(self):
        listed = subprocess.run([LOGJAM_SIM, "list", "--json", "schemes"], stdout=subprocess.PIPE,
                                text=True, check=True, timeout=LONGEST_SECONDS)
        return json.loads(listed.stdout)["schemes"]

    def test_every_scheme_runs_and_its_data_passes_verification(self):
        for scheme in self.schemes():
            with self.subTest(scheme["name"]):
                device = "nvm:100" if scheme["in_place"] else "sim:20:2000"
                row = self.row(scheme["name"], f"--log={scheme['name']}", f"--device={device}")
                self.assertEqual(row["verified"], "passed")
                self.assertGreater(float(row["tps"]), 0)
                self.assertTrue(row["machine"].startswith("simulated milan2x64, 8 cores"), row)

    def test_a_simulated_machine_has_no_hardware_counters_and_says_so(self):
        row = self.row("counters", "--log=eleda", "--device=sim:20:2000")
        self.assertEqual(row["counters_note"], "a simulated machine has no hardware counters")
        for column in ("cycles_txn", "instructions_txn", "llc_misses_txn", "tlb_misses_txn"):
            self.assertEqual(row[column], "")

    def test_a_row_counts_threads_and_syncs_of_the_log(self):
        row = self.row("log", "--log=eleda", "--device=sim:20:2000")
        self.assertEqual((row["threads_of_log"], row["threads_in_all"]), ("2", "6"))
        self.assertAlmostEqual(float(row["transactions_sync"]),
                               float(row["transactions"]) / float(row["flushes"]), delta=0.01)

    def test_the_same_flags_give_the_same_bytes_wherever_the_files_lie(self):
        for scheme in ("centr", "aether-cd", "eleda", "poplar", "silo", "dlog-s"):
            with self.subTest(scheme):
                words = (f"--log={scheme}", "--device=sim:20:2000")
                one = self.row(f"{scheme}-1", *words)
                other = self.row(f"{scheme}-in-a-directory-with-a-much-longer-name-2", *words,
                                 environment={"LONGER": "x" * 5000})
                self.assertEqual(one, other)

    # The length of a text must not move other allocations. So runs with a short and with a long
    # path must have the same slabs.
    def test_a_longer_path_takes_the_same_memory(self):
        def slabs(name):
            path = self.directory / f"{name}.csv"
            said = self.simulate("run", *SHORT, "--log=centr", "--device=sim:20:2000",
                                 "--report=accesses", f"--csv={path}", where=name).stdout
            return re.search(r"\d+  slabs of the heap; .*", said).group()

        self.assertEqual(slabs("short"), slabs("a-path-that-is-" + "much-" * 10 + "longer"))

    def test_tpcc_and_two_phase_locking_repeat_as_well(self):
        words = ("--workload=tpcc", "--tpcc_warehouses=2", "--cc=2pl-waitdie", "--log=eleda",
                 "--device=sim:20:2000", "--tpcc_items=1000")
        self.assertEqual(self.row("tpcc-1", *words), self.row("tpcc-2", *words))

    def test_a_block_costs_the_same_by_the_hook_and_by_its_folded_call(self):
        words = ("--log=eleda", "--device=sim:20:2000")
        self.assertEqual(self.row("folded", *words),
                         self.row("by-the-hook", *words, "--test=sim_unfolded:1"))

    def test_another_seed_gives_another_run(self):
        words = ("--log=poplar", "--device=sim:20:2000")
        one, other = self.row("seed-1", *words), self.row("seed-2", *words, "--sim_seed=2")
        measured = ("transactions", "commit_p50_us", "commit_p99_us", "commit_max_us")
        self.assertNotEqual([one[name] for name in measured], [other[name] for name in measured])
        self.assertTrue(other["machine"].endswith("seed 2"), other["machine"])

    def report(self, *words):
        return self.simulate("run", *SHORT, "--log=centr", "--device=null", "--report=lines:3",
                             "--overwrite=true", *words).stdout

    def test_a_report_is_of_the_measured_time(self):
        said = self.report("--threads=8")
        self.assertRegex(said, r"Accesses of the workers and log threads, in the measured time: \d+")
        for of_the_start in ("Worker::Worker", "StartGate"):
            self.assertNotIn(of_the_start, said)

    def test_a_transaction_needs_the_lines_and_the_bytes_of_the_rows_that_it_reads(self):
        of_a_row, row = 100 * bound.LINE_BYTES, self.directory / "row.json"
        said = self.simulate("run", *SHORT, "--ycsb_workload=C", "--ycsb_theta=0", "--ycsb_ops=1",
                             f"--ycsb_value_bytes={of_a_row}", "--ycsb_records=5000",
                             "--log=none", "--device=null", "--set=l3_mib=1", "--report=accesses", f"--json={row}").stdout
        needs = bound.counts_of(said, json.loads(row.read_text(encoding="utf-8")))
        # Each of the row's 100 lines counts once: fetched ahead from memory, or from another cache.
        self.assertAlmostEqual(needs["lines"] + needs["bytes"] / bound.LINE_BYTES, 100, delta=10)
        self.assertGreater(needs["bytes"], of_a_row / 2)
        self.assertTrue(100 < needs["instructions"] < 10000, needs)

    def test_the_rows_of_a_transaction_come_from_memory_together(self):
        def rows_s(index, rows, ahead=1):
            row = self.row(f"{index}-{rows}-{ahead}", "--threads=1", "--ycsb_workload=C", "--ycsb_theta=0",
                           f"--ycsb_ops={rows}:{ahead}", f"--ycsb_index={index}", "--ycsb_records=50000",
                           "--ycsb_value_bytes=100", "--log=none", "--device=null", "--set=l3_mib=1")
            return rows * float(row["tps"])

        for index in ("hash", "ordered"):
            with self.subTest(index):
                one_by_one = rows_s(index, 1)
                self.assertGreater(rows_s(index, 16), 2 * one_by_one)
                self.assertGreater(rows_s(index, 1, ahead=16), 1.3 * one_by_one)

    def test_another_seed_puts_allocations_elsewhere(self):
        def addresses(*words):
            """Returns the addresses of small allocations, which the seed moves."""
            return re.findall(r"0x[0-9a-f]+, \d+ B of allocate", self.report(*words))

        one = addresses()
        self.assertTrue(one)
        self.assertEqual(one, addresses("--sim_seed=1"))
        self.assertNotEqual(one, addresses("--sim_seed=2"))

    def test_cores_wait_for_less_than_all_latencies(self):
        found = re.search(r"waited ([\d.]+) ms .* latencies add up to ([\d.]+) ms", self.report())
        waited, latencies = map(float, found.groups())
        self.assertGreater(waited, 0)
        self.assertLess(waited, 0.95 * latencies)

    def test_a_simulation_that_checks_itself_finds_nothing(self):
        for log, machine in (("centr", "milan2x64"), ("eleda", "milan2x64"), ("silo", "milan2x64"),
                             ("aether-cd", "niagara2")):
            with self.subTest(log):
                self.assertIn("tps", self.simulate(
                    "run", *SHORT, f"--log={log}", "--device=null", "--test=sim_check:1",
                    f"--machine={machine}", "--overwrite=true").stdout)

    def test_what_was_simulated_can_be_recovered(self):
        self.row("recovered", "--log=poplar", "--device=sim:20:2000")
        done = self.simulate("recover", "--machine=milan2x64", "--cores=8", where="recovered")
        self.assertIn("every update is whole", done.stdout)

    def test_a_log_that_replaces_one_of_the_same_seed_is_kept(self):
        for _ in range(3):
            self.row("replaced", "--log=nvmd", "--device=nvm", "--log_prealloc_mb=2",
                     "--overwrite")
        done = self.simulate("recover", "--machine=milan2x64", "--cores=8", where="replaced")
        self.assertIn("every update is whole", done.stdout)

    def test_more_threads_than_cores_are_time_sliced(self):
        row = self.row("sliced", "--cores=2", "--threads=6", "--log=centr", "--device=sim:20:2000",
                       "--seconds=0.02")
        self.assertEqual(row["verified"], "passed")
        self.assertLess(float(row["cpu_pct"] if "cpu_pct" in row else 0), 201)

    def test_128_workers_leave_a_shared_latch_for_the_writer(self):
        row = self.row("crowd", "--cores=128", "--threads=128", "--log=mariadb", "--device=null",
                       "--ycsb_theta=0", "--verify=false")
        self.assertGreater(int(row["transactions"]), 0)

    def test_one_fence_waits_for_all_lines_that_are_written_back(self):
        path = self.directory / "written_back.csv"

        def insert_ns(first_ns, further_ns):
            """Returns the time of an insert, in ns. `scm` writes back the insert's 192 lines
            together."""
            self.simulate(
                "micro", "--machine=milan2x64", "--cores=4", "--threads=1", "--log=scm",
                "--device=nvm", "--record_bytes=12288", "--log_buffer_mb=1", "--seconds=0.002",
                "--warmup=0.0005", "--overwrite=true", f"--csv={path}",
                f"--set=write_back_ns={first_ns},write_back_line_ns={further_ns}")
            return float(read_rows(path)[-1]["ns_insert"])

        free = insert_ns(0, 0)
        self.assertAlmostEqual(insert_ns(1000, 0) - free, 1000, delta=200)
        self.assertAlmostEqual(insert_ns(0, 100) - free, 191 * 100, delta=200)


class Refused(OfTheSimulation):
    def refusal(self, *words):
        done = self.simulate(*words, check=False)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        return done.stderr

    def test_a_real_disk_is_refused(self):
        for device in ("file", "sync"):
            self.assertIn("has no disk",
                          self.refusal("run", *SHORT, "--log=centr", f"--device={device}"))

    def test_a_machine_that_is_not_there_is_refused(self):
        self.assertIn("there is no file", self.refusal("run", *SHORT, "--machine=none-such"))

    def test_a_constant_that_does_not_exist_is_refused(self):
        self.assertIn("is not a key", self.refusal("run", *SHORT, "--set=l7_cycles=1"))

    def test_the_native_program_refuses_a_machine_and_says_how_to_get_one(self):
        native = os.environ.get("LOGJAM", ROOT / "build" / "logjam")
        done = subprocess.run([native, "run", "--machine=milan2x64"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False,
                              timeout=LONGEST_SECONDS)
        self.assertEqual(done.returncode, 2)
        self.assertIn("make sim", done.stderr)


if __name__ == "__main__":
    unittest.main()
