"""Tests scripts/products.sh without products: how it reads the products' output, its refusals, and
its own output."""

import contextlib
import io
import os
import pathlib
import signal
import subprocess
import sys
from unittest import mock

from experiments import definition, store
from fixtures import LONGEST_SECONDS, ROOT, InADirectory
from processes import wait_until
from products import comparison, outputs, processes, trace
from products.processes import Failed, Missing
from products.sides import Side

PGBENCH = """\
transaction type: <builtin: TPC-B (sort of)>
number of clients: 4
number of transactions actually processed: 1065
number of failed transactions: 0 (0.000%)
latency average = 3.755 ms
tps = 1065.250000 (without initial connection time)
"""
SYSBENCH = """\
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       0.500 |**********                               10
       1.250 |**************************************** 40
       2.000 |*****                                    5

SQL statistics:
    transactions:                        55     (5.50 per sec.)
Latency (ms):
         99th percentile:                        2.50
"""
DB_BENCH = """\
DB path: [/tmp/x]
fillrandom   :    2955.346 micros/op 666 ops/sec 2.998 seconds 1998 operations;    0.1 MB/s
Microseconds per write:
Percentiles: P50: 322.57 P75: 4101.56 P99: 19587.92 P99.9: 27505.50 P99.99: 29919.00
"""
TRACE = """\
7  openat(AT_FDCWD</p>, "/p/data/data.mdb", O_RDWR|O_CREAT, 0600) = 5</p/data/data.mdb>
7  openat(AT_FDCWD</p>, "/p/data/data.mdb", O_WRONLY|O_DSYNC|O_CLOEXEC) = 6</p/data/data.mdb>
7  fdatasync(5</p/data/data.mdb>) = 0
7  access("measured-begins", F_OK) = -1 ENOENT (No such file or directory)
7  pwrite64(5</p/data/data.mdb>, ""..., 4096, 0) = 4096
7  fdatasync(5</p/data/data.mdb> <unfinished ...>
8  pwrite64(9</p/data/pg_wal/0000000100000000000000A1>, ""..., 8192, 0 <unfinished ...>
7  <... fdatasync resumed>) = 0
8  <... pwrite64 resumed>) = 8192
8  fsync(9</p/data/pg_wal/0000000100000000000000A1>) = 0
7  pwrite64(6</p/data/data.mdb>, ""..., 56, 0) = 56
7  write(1</elsewhere/server.log>, ""..., 100) = 100
7  write(2<socket:[77]>, ""..., 100) = 100
7  access("measured-ends", F_OK) = -1 ENOENT (No such file or directory)
7  fdatasync(5</p/data/data.mdb>) = 0
"""


def row(product, side, clients, tps, turn=1, **more):
    """Returns a row in the form of a Comparison's rows."""
    return {"round": str(turn), "axis_product": product, "axis_side": side,
            "axis_clients": str(clients), "load": "a load", "version": "15", "tps": str(tps),
            "sync_kind": "1.00 fdatasync of log", "bytes_commit": "512", **more}


class ProductOutputs(InADirectory):
    def test_each_benchmark_says_its_rate_and_its_latencies(self):
        logged = [f"0 {i} {us} 0 1700000000 5" for i, us in enumerate(range(1, 102))]
        json_line = '{"commits": 30, "tries": 31, "seconds": 2.0, "p50_us": 5, "p99_us": 9}'
        for found, wanted in (
                (outputs.pgbench(PGBENCH, logged), (1065, 1065.25, 51, 100)),
                (outputs.sysbench(SYSBENCH), (55, 5.5, 1250, 2500)),
                (outputs.db_bench(DB_BENCH), (1998, 666, 322.57, 19587.92)),
                (outputs.embedded(f"a warning\n{json_line}\n"), (30, 15, 5, 9))):
            self.assertEqual(found, outputs.measured(*wanted))

    def test_what_cannot_be_read_is_one_sentence_with_the_last_words(self):
        for read in (outputs.sysbench, outputs.db_bench):
            with self.subTest(read), self.assertRaisesRegex(Failed, "printed no .*: no space$"):
                read("some words\nno space.\n\n")
        with self.assertRaisesRegex(Failed, "pgbench committed nothing"):
            outputs.pgbench(PGBENCH, [])

    def test_a_schemes_flush_is_one_sync_and_its_bytes_are_those_of_the_flushes(self):
        got = outputs.scheme({"transactions": 100, "flushes": 25, "flush_bytes_mean": 8192,
                              "tps": 50, "commit_p50_us": 1, "commit_p99_us": 2})
        self.assertEqual((got["syncs_commit"], got["bytes_commit"]), (0.25, 2048))

    def test_a_scheme_that_acknowledged_nothing_has_no_latency_and_is_one_sentence(self):
        row = {"transactions": 0, "flushes": "", "flush_bytes_mean": "", "tps": 0}
        for empty in ("", None):
            with self.assertRaisesRegex(Failed, "acknowledged nothing"):
                outputs.scheme({**row, "commit_p50_us": empty, "commit_p99_us": empty})
        for wrong in ({"tps": ""}, {"tps": "x"}, {"transactions": None}, {"commit_p99_us": ""}):
            with self.subTest(wrong=wrong), self.assertRaisesRegex(Failed, "is no measurement"):
                outputs.scheme({**row, "commit_p50_us": 1, "commit_p99_us": 2, **wrong})

    def test_output_of_another_form_is_one_sentence(self):
        timeless = '{"commits": 1, "seconds": 0, "p50_us": 1, "p99_us": 1}'
        for read, text in (*((outputs.embedded, text) for text in ("", "{}", "no", "[]", timeless)),
                           (outputs.device, []), (outputs.device, ["{}"]),
                           (outputs.device, ['{"write_bytes": 4096, "writes_at_once": 1, '
                                             '"writes_s": 0}']),
                           (lambda lines: outputs.pgbench(PGBENCH, lines), ["0 1", "0 2"]),
                           (lambda lines: outputs.pgbench(PGBENCH, lines), ["0 1 x", "0 2 3"])):
            with self.subTest(text=text), self.assertRaisesRegex(Failed, "is no measurement"):
                read(text)

    def test_the_devices_bound_is_its_best_of_small_writes_one_after_the_other(self):
        lines = ['{"write_bytes": 4096, "writes_at_once": 1, "writes_s": 300}',
                 '{"write_bytes": 4096, "writes_at_once": 1, "writes_s": 400}',
                 '{"write_bytes": 4096, "writes_at_once": 1, "sync": "none", "writes_s": 800}',
                 '{"write_bytes": 4096, "writes_at_once": 8, "writes_s": 900}',
                 '{"write_bytes": 16384, "writes_at_once": 1, "writes_s": 500}']
        self.assertEqual(outputs.device(lines)["writes_s"], 400)


class ProductTrace(InADirectory):
    def counts(self, text=TRACE, synced=()):
        counts = trace.Counts("/p", synced)
        for line in text.splitlines():
            counts.add(line)
        return counts

    def test_syncs_and_bytes_count_between_the_marks_and_below_the_directory(self):
        counts = self.counts()
        self.assertEqual(dict(counts.syncs), {
            ("fdatasync", "data.mdb"): 1, ("fsync", "pg_wal/*"): 1,
            ("synced pwrite64", "data.mdb"): 1})
        self.assertEqual(dict(counts.bytes), {"data.mdb": 4096 + 56, "pg_wal/*": 8192})

    def test_a_descriptor_that_was_opened_before_the_trace_may_sync_as_well(self):
        line = '7  write(4</p/log>, ""..., 10) = 10'
        self.assertFalse(self.counts(line).syncs)
        self.assertEqual(dict(self.counts(line, [(4, "/p/log")]).syncs),
                         {("synced write", "log"): 1})
        again = '7  openat(3</p>, "log", O_WRONLY) = 4</p/log>\n'  # opened without O_DSYNC
        self.assertFalse(self.counts(again + line, [(4, "/p/log")]).syncs)
        failed = self.counts('7  write(4</p/log>, ""..., 9) = -1 EIO (x)')
        self.assertEqual(dict(failed.bytes), {"log": 0})

    def test_the_sentence_leaves_out_what_is_rare_and_the_sum_does_not(self):
        counts = trace.Counts("/p")
        counts.syncs.update({("fdatasync", "log"): 100, ("fsync", "table"): 3})
        counts.bytes.update({"log": 51200, "table": 800})
        self.assertEqual(trace.per_commit(counts, 100), {
            "syncs_commit": 1.03, "sync_kind": "1.00 fdatasync of log", "bytes_commit": 520,
            "synced_bytes_commit": 512})
        self.assertEqual(trace.per_commit(trace.Counts("/p"), 0)["sync_kind"], "no sync")

    def test_numbers_in_files_names_become_stars(self):
        for path, plain in (("data/ib_logfile0", "ib_logfile0"), ("data/000012.log", "*.log"),
                            ("data/WiredTigerLog.0000000001", "WiredTigerLog.*"),
                            ("data/pg_wal/0000000100000000000000A1", "pg_wal/*")):
            self.assertEqual(trace.plain_name(path), plain)

    def test_descriptors_that_sync_are_found_in_a_running_process(self):
        path = self.directory / "synced"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DSYNC)
        self.addCleanup(os.close, descriptor)
        self.assertIn((descriptor, str(path)), trace.synced_descriptors([os.getpid()]))


class ProductTable(InADirectory):
    experiment = definition.find("products")

    def test_it_has_medians_and_shares_of_the_products_time(self):
        rows = []
        for turn, tps in ((1, 100), (2, 300), (3, 200)):
            rows += [row("postgres", "product", 1, tps, turn, no_sync_tps="1000"),
                     row("postgres", "scheme", 1, 400, turn, log="postgres"),
                     row("postgres", "device", 1, 800, turn)]
        columns, lines = comparison.table(self.experiment, rows)
        self.assertEqual(lines, [["postgres", "1", 200, 1000, "postgres", 400, 800, 50, 20, 25]])
        self.assertEqual(columns[7], "explained %")

    def test_a_product_without_a_scheme_and_a_scheme_without_a_product_have_gaps(self):
        rows = [row("mysql", "scheme", 2, 40, log="innodb"), row("mysql", "device", 2, 80),
                row("lmdb", "product", 2, 10, no_sync_tps="100"), row("lmdb", "device", 2, 40)]
        _, lines = comparison.table(self.experiment, rows)
        self.assertEqual(lines, [["lmdb", "2", 10, 100, "no scheme", None, 40, None, 10, 25],
                                 ["mysql", "2", None, None, "innodb", 40, 80, None, None, None]])

    def test_each_side_says_what_ran_and_what_a_commit_syncs(self):
        rows = [row("lmdb", "product", 1, 10), row("postgres", "scheme", 1, 10),
                row("postgres", "product", 1, 10, synced_bytes_commit="500"),
                row("postgres", "product", 1, 10, turn=2), row("lmdb", "device", 1, 10)]
        said = "a commit makes 1.00 fdatasync of log, and writes 512 B"
        self.assertEqual(comparison.sentences(rows), [
            "postgres 15: a load", f"  with 1 client {said}, 500 B of them to what it syncs",
            "our scheme for postgres: a load", f"  with 1 client {said}",
            "lmdb 15: a load", f"  with 1 client {said}"])


class Fake(Side):
    """A product that commits 100 times a second, or follows a test's instructions."""

    name, load, packages = "postgres", "nothing", ("none",)

    def version(self):
        return "1"

    def run(self, clients, seconds, durable, tracer=()):
        return outputs.measured(100, 100 if durable else 1000, 1, 2)


class Absent(Fake):
    name = "rocksdb"

    def start(self):
        raise Missing("there is no db_bench, because the package rocksdb-tools is not installed")


class Breaks(Fake):
    name = "lmdb"

    def run(self, clients, seconds, durable, tracer=()):
        if clients == 2:
            raise Failed("lmdb ended with status 1: no space")
        return super().run(clients, seconds, durable, tracer)


FAKE_LOGJAM = """#!/bin/sh
for word; do case $word in --json=*) to=${word#--json=} ;; esac; done
case $1 in
  run) echo '{"transactions": 10, "flushes": 5, "flush_bytes_mean": 4096, "tps": 200,
              "commit_p50_us": 1, "commit_p99_us": 2, "log": "postgres"}' | tr -d '\\n' ;;
  device) echo '{"write_bytes": 4096, "writes_at_once": 1, "writes_s": 400, "revision": "r",
                 "machine": "m"}' | tr -d '\\n' ;;
  *) echo logjam version r ;;
esac > ${to:-/dev/stdout}
"""


class ProductRounds(InADirectory):
    def compared(self, *fakes, clients=(1, 2)):
        """Runs a Comparison of `fakes`. Returns it, the rows in its file, and its output."""
        logjam = self.directory / "logjam"
        logjam.write_text(FAKE_LOGJAM, encoding="utf-8")
        logjam.chmod(0o755)
        said, path = io.StringIO(), self.directory / "rows.csv"
        counts = {"syncs_commit": 1.0, "sync_kind": "1.00 fsync of log", "bytes_commit": 512.0}
        with mock.patch.dict(comparison.PRODUCTS, {fake.name: fake for fake in fakes}), \
                mock.patch.object(trace, "traced", lambda *_: counts), \
                mock.patch.object(os, "sync"), contextlib.redirect_stderr(said), \
                comparison.Comparison(self.directory, [fake.name for fake in fakes], list(clients),
                                      logjam, ProductTable.experiment) as made:
            made.start()
            made.measure(1, 0.1, path)
        self.assertEqual([one for one in self.directory.iterdir() if one.is_dir()], [])
        return made, store.Store(path).rows, said.getvalue()

    def test_a_row_is_a_side_of_a_product_at_one_number_of_clients_in_one_round(self):
        made, rows, _ = self.compared(Fake)
        self.assertTrue(made.well)
        said = [(one["axis_side"], one["axis_clients"], float(one["tps"])) for one in rows]
        self.assertEqual(said, [("product", "1", 100), ("scheme", "1", 200), ("device", "1", 400),
                                ("product", "2", 100), ("scheme", "2", 200), ("device", "2", 800)])
        self.assertEqual({one["machine"] for one in rows}, {"m"})
        self.assertEqual(rows[0]["no_sync_tps"], "1000")

    def test_a_product_that_is_not_installed_is_left_out_with_one_sentence(self):
        made, rows, said = self.compared(Absent, Fake)
        self.assertFalse(made.well)
        self.assertEqual({one["axis_product"] for one in rows}, {"postgres"})
        self.assertIn("products: rocksdb is left out: there is no db_bench, because the package "
                      "rocksdb-tools is not installed.\n", said)

    def test_a_product_that_fails_is_left_out_from_then_on_and_keeps_its_rows(self):
        made, rows, said = self.compared(Breaks, Fake)
        self.assertFalse(made.well)
        self.assertEqual([one["axis_clients"] for one in rows if one["axis_product"] == "lmdb"],
                         ["1", "1"])
        self.assertEqual(len([one for one in rows if one["axis_product"] == "postgres"]), 6)
        self.assertIn("products: lmdb is left out: lmdb ended with status 1: no space.\n", said)

    def test_each_product_with_a_scheme_is_a_point_of_the_experiment(self):
        points = {point.axes["product"] for point in ProductTable.experiment.points("full")}
        self.assertEqual(set(comparison.NAMES) - points, {"sqlite", "lmdb"})
        self.assertLess(points, set(comparison.NAMES))


class ProductRefusals(InADirectory):
    def call(self, *words, program="scripts/products.py"):
        # This --dir is refused in any case, so no product runs even if the words are accepted.
        command = [ROOT / program, "--logjam=/bin/true", "--dir=/proc/nowhere", *words]
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.PIPE, check=False, timeout=LONGEST_SECONDS)

    def refusal(self, *words, **more):
        """Runs the program with these words, and returns the one sentence of its refusal."""
        done = self.call(*words, **more)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr.strip()

    def test_bad_input_is_one_sentence(self):
        (self.directory / "text").write_text("some\ntext\n", encoding="utf-8")
        for words, said in (
                (["oracle"], "there is no product oracle; there are postgres, mariadb"),
                (["--clients=0"], "--clients=0 is no list of different numbers from 1 to 128"),
                (["--clients=1,1"], "--clients=1,1 is no list"),
                (["--clients=1,x"], "--clients=1,x is no list"),
                (["--clients=129"], "--clients=129 is no list"),
                (["--clients=\u0661,\u0662"], "--clients=\u0661,\u0662 is no list"),
                (["--rounds=\u0663"], "invalid int value"),
                (["--csv=/proc/x.csv"], "nothing can be written in /proc"),
                (["--rounds=0"], "--rounds=0 must be at least 1"),
                (["--rounds=x"], "invalid int value"),
                (["--seconds=0"], "--seconds=0 must be from 0.1 to 3600"),
                (["--seconds=nan"], "--seconds=nan must be"),
                (["--colour=red"], "unrecognized arguments: --colour=red"),
                (["--logjam=/nowhere"], "there is no program /nowhere"),
                ([f"--csv={self.directory}/text"], "holds no rows of an experiment"),
                ([f"--csv={self.directory}/rows"], "--dir=/proc/nowhere cannot be used"),
                ([f"--csv={self.directory}/rows", f"--dir=/{'x' * 80}"], "too long for a unix")):
            with self.subTest(words=words):
                self.assertIn(said, self.refusal(*words))

    def test_bad_input_is_refused_before_anything_is_installed(self):
        for word in ("oracle", "--rounds=0"):
            self.assertIn(word, self.refusal(word, program="scripts/products.sh"))

    def test_help_names_all_products(self):
        done = self.call("--help", program="scripts/products.sh")
        self.assertEqual(done.returncode, 0)
        self.assertIn("postgres, mariadb, mariadb-binlog, rocksdb", " ".join(done.stdout.split()))

    def test_a_products_packages_are_printed_for_the_script_that_installs_them(self):
        done = self.call("--packages", "mariadb", "mysql", "lmdb")
        self.assertEqual(done.stdout, "mariadb mariadb-server mariadb-client sysbench\nmysql\n"
                                      "lmdb liblmdb-dev\n")
        known = (ROOT / "scripts/install_deps.sh").read_text(encoding="utf-8")
        for word in self.call("--packages").stdout.split():
            self.assertTrue(word in comparison.NAMES or word in known, word)


class ProductProcesses(InADirectory):
    def test_a_program_that_fails_is_named_with_its_last_words(self):
        with self.assertRaisesRegex(Failed, "^sh ended with status 3: so it is$"):
            processes.output_of(["sh", "-c", "echo first; echo so it is >&2; exit 3"])
        with self.assertRaisesRegex(Failed, "^sh ended with status 1: it said nothing$"):
            processes.output_of(processes.as_user(["sh", "-c", "exit 1"]))
        with self.assertRaisesRegex(Failed, "^nowhere cannot be started: No such file"):
            processes.output_of(["/nowhere"])

    def test_a_program_that_is_not_there_names_its_package(self):
        with self.assertRaisesRegex(Missing, "no logjam-x, because the package y is not installed"):
            processes.program("logjam-x", "y")

    def test_a_program_runs_without_privileges_and_ends_with_its_parent(self):
        path = self.directory / "pid"
        code = ("import subprocess, time; from products.processes import as_user\n"
                "one = subprocess.Popen(as_user(['sleep', '600']))\n"
                f"open({str(path)!r}, 'w').write(f'{{one.pid}}\\n'); time.sleep(600)")
        with subprocess.Popen([sys.executable, "-c", code], env={
                **os.environ, "PYTHONPATH": str(ROOT / "scripts")}) as parent:
            try:
                wait_until("it has started",
                           lambda: path.exists() and path.read_text().endswith("\n"))
                child = pathlib.Path("/proc", path.read_text().strip())
                wait_until("it is a sleep", lambda: (child / "comm").read_text() == "sleep\n")
                user = (child / "status").read_text().split("Uid:")[1].split()[0]
                self.assertNotEqual(user, "0")
            finally:
                parent.send_signal(signal.SIGKILL)
        wait_until("it has ended", lambda: not child.exists() or
                   (child / "stat").read_text().split()[2] == "Z")
