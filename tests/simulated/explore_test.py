"""Tests the explorer: rounds without an error, an error that a seed repeats, refused flags."""

import json
import os
import re
import shlex
import subprocess
import unittest

from fixtures import ROOT, InADirectory
from simulation_test import LOGJAM_SIM, LONGEST_SECONDS


class Explore(InADirectory):
    def explore(self, *words, program=LOGJAM_SIM):
        done = subprocess.run([program, "explore", *words], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False,
                              timeout=LONGEST_SECONDS)
        return done.returncode, done.stdout

    def script(self, name, *words):
        done = subprocess.run([ROOT / "proof" / name, *words, f"--logjam={LOGJAM_SIM}"],
                              stdout=subprocess.PIPE, text=True, check=False,
                              timeout=LONGEST_SECONDS)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_nothing_is_lost_in_any_scheme(self):
        status, printed = self.explore("--rounds=100", "--seed=1")
        self.assertEqual(status, 0, printed)
        crashes = int(re.search(r"(\d+) crashes", printed).group(1))
        self.assertGreater(crashes, 400)

    def test_nothing_is_lost_in_non_volatile_memory(self):
        status, printed = self.explore("--log=scm", "--rounds=25", "--seed=1")
        self.assertEqual(status, 0, printed)

    # Each of these rounds once lost a wake-up (results/PLANTED.md). If the faults are planted
    # again, seeds 4, 62, 112 and 116 find the first four; 1,500 seeds do not find the last one.
    LOST_WAKE_UPS = (
        (1, "--log=nvlog", "--flush_help=false", "--commit=pipelined", "--log_records=txn"),
        (56, "--log=pwal", "--flush_help=false", "--commit=sync", "--log_records=op",
         "--flush=us:1", "--threads=2"),
        (106, "--log=poplar", "--checkpoint=s:0.00003", "--commit=sync", "--threads=2"),
        (110, "--log=silo", "--checkpoint=s:0.00003", "--commit=pipelined", "--flush=us:20"),
        (755, "--log=nvlog", "--cc=2pl-detect", "--commit=pipelined", "--log_records=op",
         "--threads=4", "--transactions=30", "--pipeline_depth=16", "--locks=all",
         "--flush=txns:8,us:50", "--flush_help=false", "--wal_dir=a,b", "--checkpoint=s:0.00003",
         "--ledger=keys:12,cells:4,slots:1,reads:4,writes:4,theta:0.9"))

    def test_no_wake_up_is_lost_where_one_was(self):
        for seed, *words in self.LOST_WAKE_UPS:
            with self.subTest(words=words[:2]):
                status, printed = self.explore(*words, "--rounds=10", f"--seed={seed}")
                self.assertEqual(status, 0, printed)

    def test_every_workload_but_tpcc_can_be_explored(self):
        listed = subprocess.run([LOGJAM_SIM, "list", "--json", "workloads"], stdout=subprocess.PIPE,
                                text=True, check=True, timeout=LONGEST_SECONDS)
        for workload in json.loads(listed.stdout)["workloads"]:
            name = workload["name"]
            if name == "tpcc":  # its records do not fit into the small rings of a round
                continue
            words = [f"--trace={ROOT}/proof/small_trace.csv"] if name == "trace" else []
            with self.subTest(name):
                status, printed = self.explore(f"--workload={name}", *words, "--rounds=5")
                self.assertEqual(status, 0, printed)

    def test_a_seed_is_a_schedule(self):
        words = ("--rounds=4", "--seed=7", "--log=aether-cd", "--cc=2pl-waitdie")
        hashes = {re.search(r"hash (\w+)", self.explore(*words)[1]).group(1) for _ in range(2)}
        self.assertEqual(len(hashes), 1)

    def test_a_lost_write_is_found_and_found_again(self):
        status, printed = self.explore("--rounds=200", "--log=centr", "--test=device_skips_syncs:1")
        self.assertEqual(status, 4, printed)
        self.assertIn("fails a check", printed)
        again = re.search(r"again +logjam explore (.*)", printed).group(1).split()
        self.assertEqual(again[-1], "--rounds=1")
        status, repeated = self.explore(*again)
        self.assertEqual(status, 4, repeated)
        schedule = re.search(r"schedule .*", printed).group(0)
        self.assertIn(schedule, repeated)
        sound = [word for word in again if not word.startswith("--test")]
        self.assertEqual(self.explore(*sound)[0], 0, "without the fault")

    def test_a_found_schedule_is_made_smaller(self):
        said = self.script("minimise.py", "--log=eleda", "--test=device_skips_syncs:1",
                           "--threads=3", "--seed=4", "--seeds=20", "--seconds=5",
                           "--turns-seconds=20", f"--to={self.directory}/schedule")
        before, after = map(int, re.search(r"after +(\d+) turns .* (\d+) of them", said).groups())
        self.assertLess(after, before)
        self.assertIn("--threads=2", said)
        again = re.search(r"^ +logjam explore (.*play=.*)", said, re.MULTILINE).group(1)
        status, printed = self.explore(*shlex.split(again))
        self.assertEqual(status, 4, printed)
        self.assertIn("fails a check", printed)

    def weakened(self, only, flags):
        """Runs the script, which makes each release in the file `only` relaxed; returns its
        output."""
        return self.script("weakened_orders.py", f"--only={only}", f"--flags={flags}",
                           "--rounds=40")

    def test_a_release_that_counts_as_relaxed_is_a_data_race(self):
        printed = self.weakened("logging/schemes/centr.cc", "--log=centr")
        self.assertRegex(printed, r"centr\.cc:\d+\t\d+\t\d+\ta data race: nothing orders log-0 "
                                  r"loads in .*MemoryFiles::write.*, after worker-\d stores in")
        self.assertIn("1 found of 1 that were met, of 1", printed)

    def test_a_row_that_was_read_must_come_after_its_writer_s_stores(self):
        printed = self.weakened("cc/version_locks.h", "--log=centr --cc=occ --threads=4 --transactions=30 "
                                "--ledger=keys:8,cells:4,slots:1,reads:4,writes:4,theta:0.9")
        self.assertIn("loads in try_load (cc/version_locks.h", printed)
        self.assertIn("2 found of 2 that were met, of 2", printed)

    def test_the_blocks_that_were_reached_are_told(self):
        blocks = f"blocks={self.directory}/blocks"
        reached = [int(re.search(r"(\d+) blocks", self.explore("--rounds=2", f"--seed={seed}",
                                                               blocks)[1]).group(1))
                   for seed in (1, 1, 5)]
        self.assertGreater(reached[0], 5_000, "also blocks with a price")
        self.assertLessEqual(reached[0], reached[1])
        self.assertLess(reached[1], reached[2], "the file adds up")
        told = self.script("explore.py", "--reached", f"--out={self.directory}")
        self.assertRegex(told, r"cc +[\d,]+ +[\d,]+ +\d+%")

    def test_a_campaign_goes_on_where_it_was_stopped(self):
        def campaign(rounds):
            said = self.script("explore.py", f"--rounds={rounds}", "--piece=4",
                               "--schemes=silo,command", f"--out={self.directory}")
            return {line.split()[0]: int(line.split()[1]) for line in said.splitlines()
                    if line.startswith(("silo ", "command "))}

        self.assertEqual(campaign(6), {"silo": 6, "command": 6})
        self.assertEqual(campaign(6), {"silo": 6, "command": 6})
        self.assertEqual(campaign(8), {"silo": 8, "command": 8})

    def test_what_cannot_be_explored_is_refused(self):
        for words, sentence in (
                (("--log=none",), "cannot be explored"),
                (("--log=nothing",), "is not a scheme"),
                (("--cc=nothing",), "is not a protocol"),
                (("play=/nowhere",), "cannot be read"),
                (("weaken=/dev/null",), "is neither a regular file nor a directory"),
                (("sing=/nowhere",), "names no file of the explorer")):
            status, printed = self.explore(*words)
            self.assertEqual(status, 2, printed)
            self.assertIn(sentence, printed)

    @unittest.skipUnless(os.environ.get("LOGJAM"), "LOGJAM names no binary")
    def test_the_native_build_does_not_explore(self):
        status, printed = self.explore(program=os.environ["LOGJAM"])
        self.assertEqual(status, 2, printed)
        self.assertIn("needs the simulated build", printed)


if __name__ == "__main__":
    unittest.main()
