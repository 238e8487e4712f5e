"""Tests which system calls make a log durable, and a machine on which io_uring is forbidden."""

import csv
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LOGJAM = os.path.realpath(os.environ.get("LOGJAM", ROOT / "build/logjam"))
WITHOUT_IO_URING = [sys.executable, str(pathlib.Path(__file__).with_name("without_io_uring.py"))]
# Matches a call on a file of the log. If the call is a write, also matches the first bytes.
CALL = re.compile(r'^(\w+)\(\d+<([^>]*\.log\.db[^>]*)>(?:, (?:\[\{iov_base=)?"((?:[^"\\]|\\.)*)")?'
                  r'(.*)\) += (\d+)$')
ZEROS = r"\0\0\0\0"
SYNCS = ("fdatasync", "fsync")


def logjam(*words, before=()):
    done = subprocess.run([*before, LOGJAM, *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@unittest.skipUnless(os.environ.get("LOGJAM"), "LOGJAM names no binary")
class SystemCalls(unittest.TestCase):
    def calls(self, method, log, device):
        """Runs logjam under strace. Returns the calls of each thread on the log's files, without
        the writes of zeros and the syncs of the segments that they make."""
        with tempfile.TemporaryDirectory() as folder:
            directories = ",".join(f"{folder}/{name}" for name in "ab")
            status, said, error = logjam(
                "run", "--workload=ledger", f"--log={log}", f"--device={device}",
                f"--sync={method}", f"--wal_dir={directories}", "--threads=2",
                "--transactions=300", "--log_buffer_mb=1", "--log_prealloc_mb=1",
                "--stripe_kb=4", "--test=no_io_uring:1,log_segment_kb:16",
                before=["strace", "-ff", "-qq", "-y", "-s4", f"--output={folder}/calls",
                        "--trace=pwrite64,pwritev2,fdatasync,fsync"])
            self.assertEqual(status, 0, said + error)
            threads = []
            for path in pathlib.Path(folder).glob("calls.*"):
                lines = path.read_text(encoding="utf-8").splitlines()
                found = [call.groups() for call in map(CALL.match, lines) if call]
                threads.append([call for at, call in enumerate(found) if self.is_of_log(found, at)])
            return threads

    @staticmethod
    def is_of_log(found, at):
        name, _, begins, _, _ = found[at]
        if name in SYNCS:
            before = found[at - 1] if at > 0 else None
            return before is not None and before[0] not in SYNCS and before[2] != ZEROS
        return begins != ZEROS

    def test_each_write_of_the_log_is_synced_as_the_method_says(self):
        for method in ("dsync", "fdatasync", "fsync", "none"):
            for log, device in (("pwal", "sync"), ("centr", "sync"), ("centr", "file")):
                with self.subTest(method=method, log=log, device=device):
                    threads = self.calls(method, log, device)
                    written = {path for calls in threads for name, path, *_ in calls}
                    for part in ("/a/stream-0.log.db", "/b/stream-", ".log.db.1"):
                        self.assertTrue(any(part in path for path in written), written)
                    for calls in threads:
                        self.check(calls, method)

    def check(self, calls, method):
        for at, (name, path, _, rest, _) in enumerate(calls):
            if name in SYNCS:
                self.assertEqual(name, method)
                continue
            self.assertEqual((name, "RWF_DSYNC" in rest),
                             ("pwritev2", True) if method == "dsync" else ("pwrite64", False))
            if method in SYNCS:
                self.assertLess(at + 1, len(calls))
                self.assertEqual(calls[at + 1][:2], (method, path))


@unittest.skipUnless(os.environ.get("LOGJAM"), "LOGJAM names no binary")
class WithoutIoUring(unittest.TestCase):
    """In a container whose profile forbids io_uring."""

    def run_there(self, *words):
        return logjam(*words, before=WITHOUT_IO_URING)

    def test_a_log_is_written_by_threads_and_can_be_recovered(self):
        with tempfile.TemporaryDirectory() as folder:
            status, said, error = self.run_there(
                "run", "--workload=ycsb", "--ycsb_records=1000", "--log=silo", "--device=file", "--threads=2",
                "--transactions=2000", f"--wal_dir={folder}/a,{folder}/b", "--log_buffer_mb=1",
                "--log_prealloc_mb=1", f"--csv={folder}/rows.csv")
            self.assertEqual(status, 0, said + error)
            self.assertEqual(error.count("io_uring cannot be used here (Operation not permitted), "
                                         "so the log's own threads write\n"), 1, error)
            with open(f"{folder}/rows.csv", encoding="utf-8") as rows:
                row = next(csv.DictReader(rows))
            self.assertEqual((row["io"], row["verified"], row["unsafe"]), ("pwrite", "passed", ""))
            status, said, error = self.run_there("recover", "--verify",
                                                 f"--wal_dir={folder}/b,{folder}/a")
            self.assertEqual(status, 0, said + error)
            self.assertIn("\nok ", said)
            self.assertNotIn("FAIL", said)

    def test_the_device_is_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            status, said, error = self.run_there("device", "--device=file", f"--wal_dir={folder}",
                                                 "--seconds=0.001")
            self.assertEqual(status, 0, said + error)
            self.assertIn("durable groups a second", said)

    def test_a_crash_loses_nothing(self):
        build = pathlib.Path(LOGJAM).parent
        if build.parent != ROOT or not (build / "tests/all").exists():
            self.skipTest("the tests are not built")
        # Twelve consecutive seeds are rounds of one scheme, under each protocol and commit policy.
        done = subprocess.run(
            [*WITHOUT_IO_URING, str(ROOT / "proof/crash_rounds.py"), f"--build={build.name}",
             "--rounds=12", "--seed=1"],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("12 rounds proved, 0 failed", done.stdout)
        self.assertRegex(done.stdout, r"--device=(faulty:)?file ")
