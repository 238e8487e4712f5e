"""Tests that sweeps with a real Slurm and GNU parallel have each row once, even if nodes die.

With LOGJAM_TEST_ALL the sweeps have 200 points.
"""

import json
import os
import signal
import subprocess
import sys
import time
import unittest

import local_hosts
import local_slurm
from fixtures import FIGURES, InADirectory
from processes import missing, wait_until

from experiments.files import read_rows

LARGE = bool(os.environ.get("LOGJAM_TEST_ALL"))
LOGS = "aether-c,aether-cde,aether-d,centr,centr-faa,dlog-r,eleda,poplar,pwal,silo"
AXES = ["workload=ycsb,tpcb", "threads=1,2", "rounds=1",
        *([f"log={LOGS}", "flush=us:0,us:50,us:100,us:200,us:400"] if LARGE else ["log=centr,silo"])]
JOBS = 200 if LARGE else 8
SHORT = ["--seconds=0.1" if LARGE else "--seconds=0.05", "--warmup=0", "--device=null",
         "--ycsb_records=1000", "--tpcb_accounts=1000", "--noverify", "--log_buffer_mb=1"]


class Submitted(InADirectory):
    environment = None  # the environment variables with which commands use the cluster

    def setUp(self):
        super().setUp()
        # File names may contain {} and %j. GNU parallel and Slurm must not replace these here.
        self.csv, self.batch = (self.directory / f"x {{}} %j.{of}" for of in ("csv", "batch"))
        self.begun = time.monotonic()

    def command(self, *words):
        return [sys.executable, str(FIGURES), "sweep", f"--out={self.csv}", "--tries=1",
                f"--wal_dir={self.directory}/wal", *AXES, *words, "--", *SHORT]

    def call(self, *words, status=0):
        done = subprocess.run(words, env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + self.logs())
        return done.stdout

    def merge(self, status=0):
        return self.call(sys.executable, str(FIGURES), "merge", str(self.batch), status=status)

    def logs(self):
        return "".join(f"\n{path.name}: {path.read_text(errors='replace')[-500:]}"
                       for path in sorted(self.batch.glob("logs/*")))

    def rows_made(self):
        """Maps the name of each row's file to the time of the file's last change."""
        return {path.name: path.stat().st_mtime_ns for path in self.batch.glob("rows/*.json")}

    def wait_for_rows(self, count, submitter=None):
        def made():
            if submitter and submitter.poll() is not None:
                self.fail(f"the submission ended too early\n{self.logs()}")
            return len(self.rows_made()) >= count
        wait_until(f"{count} rows are made", made, self.logs)

    def say(self, what):
        print(f"{time.monotonic() - self.begun:.1f} s: {what}", flush=True)

    def assert_no_row_is_lost_or_doubled(self):
        rows = read_rows(self.csv)
        axes = [name for name in rows[0] if name.startswith("axis_")]
        keys = {tuple(row[name] for name in ("round", *axes)) for row in rows}
        plan = json.loads((self.batch / "plan.json").read_text())
        planned = {(str(job["round"]), *(job["point"]["axes"][name[5:]] for name in axes))
                   for job in plan["jobs"]}
        self.say(f"{len(planned)} jobs, {len(rows)} rows, {len(rows) - len(keys)} doubled, "
                 f"{len(planned - keys)} missing")
        self.assertEqual((len(planned), len(rows)), (JOBS, JOBS))
        self.assertEqual(keys, planned)
        # A run of a tenth of a second may end before the first commit is acknowledged.
        self.assertTrue(all(float(row["tps"]) >= 0 for row in rows))
        self.assertIn("is merged", self.merge())


@unittest.skipUnless(os.environ.get("LOGJAM"), "LOGJAM names no binary")
@unittest.skipIf(missing(local_slurm.DAEMONS), missing(local_slurm.DAEMONS))
class Slurm(Submitted):
    def setUp(self):
        super().setUp()
        self.slurm = self.enterContext(local_slurm.LocalSlurm(nodes=4 if LARGE else 2))
        self.environment = self.slurm.environment

    def logs(self):
        return super().logs() + self.slurm.logs()

    def kill_a_node_at_work(self, node="node1"):
        # If LARGE, waits for two processes: the script and logjam. A small sweep rarely has both.
        wait_until(f"{node} works", lambda: len(self.slurm.processes_of(node)) > LARGE, self.logs)
        count = self.slurm.kill_node(node)
        self.say(f"{node} is killed with {count} processes of its task, "
                 f"{len(self.rows_made())} rows are made")

    def test_another_node_takes_over_from_one_that_dies(self):
        self.call(*self.command("--submit=slurm"))
        self.wait_for_rows(JOBS // 4)
        self.kill_a_node_at_work()
        self.slurm.wait_until_empty()
        self.assert_no_row_is_lost_or_doubled()

    def test_what_a_dead_node_and_a_cancelled_queue_left_out_is_submitted_again(self):
        self.call(*self.command("--submit=slurm"))
        self.wait_for_rows(JOBS // 4)
        self.kill_a_node_at_work()
        self.wait_for_rows(JOBS // 2)
        array = (self.batch / "slurm_jobs").read_text().split()[0]
        self.slurm.ask("scancel", array)
        self.slurm.start_node("node1")
        self.slurm.wait_until_empty()
        before = self.rows_made()
        self.say(f"the queue is cancelled, {len(before)} rows are made")
        self.assertLess(len(before), JOBS)
        self.assertIn("rows are missing", (self.batch / "logs" / "merge.log").read_text())
        self.assertFalse(self.csv.exists())
        self.assertIn(f"{JOBS - len(before)} tasks submitted", self.call(
            *self.command("--submit=slurm")))
        self.slurm.wait_until_empty()
        self.assert_no_row_is_lost_or_doubled()
        after = self.rows_made()
        self.assertEqual(before, {name: after[name] for name in before})  # no job ran again


@unittest.skipUnless(os.environ.get("LOGJAM"), "LOGJAM names no binary")
@unittest.skipIf(missing(local_hosts.PROGRAMS), missing(local_hosts.PROGRAMS))
class Parallel(Submitted):
    def setUp(self):
        super().setUp()
        self.hosts = self.enterContext(local_hosts.LocalHosts(["one", "two"]))
        self.environment = self.hosts.environment

    def logs(self):
        return (self.directory / "said").read_text() + super().logs() + self.hosts.logs()

    def begin(self, hosts="one,two"):
        """Starts a submission in its own process group."""
        with open(self.directory / "said", "ab") as said:
            begun = subprocess.Popen(
                self.command("--submit=parallel", f"--hosts={hosts}"), env=self.environment,
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True)
        self.addCleanup(self.end, begun)
        return begun

    @staticmethod
    def end(begun):
        if begun.poll() is None:
            os.killpg(begun.pid, signal.SIGKILL)
            begun.wait()

    def kill_a_host_at_work(self, host="two"):
        wait_until(f"{host} works", lambda: len(self.hosts.under(host)) > 3, self.logs)
        count = self.hosts.kill(host)
        self.say(f"{host} is killed with {count} processes, {len(self.rows_made())} rows are made")

    def test_another_host_takes_over_from_one_that_dies(self):
        begun = self.begin()
        self.wait_for_rows(JOBS // 4, begun)
        self.kill_a_host_at_work()
        begun.wait()
        self.assertEqual(begun.returncode, 0, self.logs())
        self.assert_no_row_is_lost_or_doubled()

    def test_what_a_dead_host_and_a_dead_submitter_left_out_is_submitted_again(self):
        begun = self.begin()
        self.wait_for_rows(JOBS // 4, begun)
        self.kill_a_host_at_work()
        self.wait_for_rows(JOBS // 2, begun)
        self.end(begun)
        self.hosts.kill("one")
        before = self.rows_made()
        self.say(f"all is killed, {len(before)} rows are made")
        self.assertLess(len(before), JOBS)
        self.assertIn("rows are missing", self.merge(status=2))
        self.assertFalse(self.csv.exists())
        for host in ("one", "two"):
            self.hosts.start(host)
        listed = self.directory / "hosts"
        listed.write_text("one\ntwo\n")
        again = self.begin(hosts=listed)
        again.wait()
        self.assertEqual(again.returncode, 0, self.logs())
        self.assert_no_row_is_lost_or_doubled()
        after = self.rows_made()
        self.assertEqual(before, {name: after[name] for name in before})  # no job ran again
