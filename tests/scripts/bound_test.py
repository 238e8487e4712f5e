"""Tests scripts/bound.py: what a transaction needs, its bound, and what binds it."""

import collections
import contextlib
import csv
import io
import json
import os
import subprocess
import sys
import unittest

from fixtures import ROOT, InADirectory

from experiments.errors import Refused

sys.path.insert(0, str(ROOT / "scripts"))
import bound  # noqa: E402

BOUND = ROOT / "scripts" / "bound.py"
MACHINE = "a CPU, 2 cores, Linux 6"
RATES = """\
what,how,threads,per_s
lines,"1 in flight",1,5000000
lines,"16 in flight",1,20000000
lines,"1 in flight",2,10000000
lines,"16 in flight",2,30000000
bytes,"read in order",1,9000000000
bytes,"copied",1,8000000000
bytes,"read in order",2,16000000000
bytes,"copied",2,12000000000
instructions,"hash, each waits",1,6000000000
instructions,"hash, none waits",1,10000000000
instructions,"hash, none waits",2,20000000000
"""
COUNTS = {"the core's second cache": 1000, "its complex's cache": 500, "another core": 3,
          "another complex": 0, "another socket": 0, "own memory": 47, "remote memory": 0,
          "invalidations": 11, "waits for a line": 7,
          "lines of memory among them that the hardware fetched ahead": 20,
          "instructions": 12000}


def report(**changes):
    counts = COUNTS | {name.replace("_", " "): count for name, count in changes.items()}
    return "tps   10\n\nAccesses of the workers: 99. By who answered:\n" + "".join(
        f"{count:14}  {who}\n" for who, count in counts.items()) + (
            "In the whole run:\n             8  turns waited for; 3 of them gave others a turn\n")


def rates(text=RATES):
    return bound.Rates(list(csv.DictReader(io.StringIO(text))))


def row(given="run --log=none", **changes):
    return {"round": "1", "axis_log": "none", "given": given, "threads": "1", "tps": "1000000",
            "revision": "abc", "machine": MACHINE, "binary": "def", **changes}


def counts(lines="", of_bytes="", instructions=""):
    return {"lines": lines, "bytes": of_bytes, "instructions": instructions,
            "counted_on": "simulated this", "counted_by": "abc"}


def judged(one, needs):
    return bound.judged([one], needs, rates())


class Bound(InADirectory):
    def test_a_line_from_memory_or_another_core_counts_once(self):
        needs = bound.counts_of(report(), {"transactions": 10})
        self.assertEqual(needs, {"lines": 3, "bytes": 128, "instructions": 1200})

    def test_without_a_transaction_nothing_was_counted(self):
        self.assertEqual(set(bound.counts_of(report(), {"transactions": 0}).values()), {None})

    def test_inserts_and_calls_count_as_transactions_do(self):
        for name in ("inserts", "calls"):
            self.assertEqual(bound.counts_of(report(), {name: 30})["lines"], 1)

    def test_the_bound_is_the_largest_time_because_a_core_does_all_at_once(self):
        made = judged(row(), counts("10", "900", "5000"))
        self.assertEqual([float(made[f"{what}_us"]) for what in bound.WHAT[:3]], [0.5, 0.1, 0.5])
        made = judged(row(tps="500000"), counts("12", "900", "5000"))
        self.assertEqual((made["bound_us"], made["of_bound_pct"], made["bound_by"]),
                         ("0.6", "30", "lines"))

    def test_a_loop_of_one_kind_is_bound_by_it_at_its_rate(self):
        for tps, needs, by in (("20000000", counts("1", "0", "6"), "lines"),
                               ("2250000", counts("0.5", "4000", "100"), "bytes"),
                               ("50000000", counts("0", "0", "200"), "instructions")):
            made = judged(row(tps=tps), needs)
            self.assertEqual((made["bound_by"], made["of_bound_pct"]), (by, "100"))

    def test_cores_share_what_they_can_do_together(self):
        made = judged(row(threads="2", tps="2000000"), counts("3", "", ""))
        self.assertEqual((made["lines_us"], made["took_us"], made["of_bound_pct"]), ("0.2", "1", "20"))
        made = judged(row(threads="8", tps="2000000"), counts("3", "", ""))
        self.assertEqual((made["took_us"], made["of_bound_pct"]), ("1", "20"), "the machine has two")
        self.assertEqual(rates(RATES.replace(",2,", ",4,")).of("lines", 3), 30e6)
        self.assertEqual(rates(RATES.replace(",2,", ",4,")).of("bytes", 2), 16e9)

    def test_what_was_not_measured_is_empty_and_binds_nothing(self):
        made = judged(row(transactions_sync=""), counts("3", "", "10"))
        for name in ("bytes_txn", "bytes_us", "writes_txn", "writes_us"):
            self.assertEqual(made[name], "", name)
        self.assertEqual(made["bound_by"], "lines")
        made = judged(row(), counts())
        self.assertEqual((made["bound_us"], made["of_bound_pct"], made["bound_by"]), ("", "", ""))

    def test_an_unsteady_row_has_no_rate(self):
        made = judged(row(unsteady="too short"), counts("3"))
        self.assertEqual((made["per_s"], made["took_us"], made["of_bound_pct"], made["rounds"],
                          made["unsteady"]), ("", "", "", "0", "1"))
        self.assertEqual(made["bound_by"], "lines")

    def test_the_pmu_counts_instructions_where_there_is_one(self):
        made = judged(row(instructions_txn="40000"), counts("3", "", "10"))
        self.assertEqual((made["instructions_txn"], made["instructions_from"], made["bound_by"]),
                         ("40000", "PMU", "instructions"))

    def test_synced_writes_have_the_rate_of_their_method(self):
        of = rates(RATES.replace("\n", ",\n").replace("per_s,", "per_s,sync") +
                   "writes,4096 B,1,500,dsync\nwrites,4096 B,4,2000,dsync\nwrites,4096 B,4,9000,fsync\n")
        made = bound.judged([row(sync="dsync", transactions_sync="10", tps="10000", threads="2")],
                            counts("3"), of)
        self.assertEqual((made["writes_txn"], made["writes_us"], made["of_bound_pct"],
                          made["bound_by"]), ("0.1", "100", "50", "writes"))

    def stand_in(self, name, script):
        path = self.directory / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    def run_bound(self, rows, simulator, *words):
        path = self.directory / "rows.csv"
        bound.store.write_rows(path, rows)
        logjam = self.stand_in("logjam", f"cat <<'END'\n{RATES}END")
        done = subprocess.run(
            [sys.executable, BOUND, path, f"--logjam={logjam}", f"--simulator={simulator}",
             f"--rates={self.directory}/b/rates.csv", f"--counts={self.directory}/b/counts.csv",
             f"--out={self.directory}/out.csv", *words], capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        return done

    def simulator(self):
        made = json.dumps({"transactions": 10, "revision": "abc", "machine":
                           "simulated this, 2 cores, 1 sockets, model 10, seed 1"})
        return self.stand_in("simulator", f"""
            echo "$@" >> {self.directory}/calls
            for word; do case $word in --json=*) echo '{made}' > "${{word#--json=}}";; esac; done
            cat <<'END'\n{report()}END""")

    def test_each_command_is_counted_once_on_the_simulated_machine(self):
        given = "run --device=file --log=centr --wal_dir={dir}/0 --overwrite"
        rows = [row(), row(round="2", tps="3000000"), row(round="3", tps="2000000"),
                row(given, axis_log="centr", tps="")]
        for _ in range(2):
            done = self.run_bound(rows, self.simulator(), "--sim_seconds=0.5")
            self.assertEqual(done.returncode, 0, done.stderr)
        calls = (self.directory / "calls").read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(calls), 2, "the second time both were known")
        self.assertIn(" --device=null --log=centr --wal_dir=/", calls[1])
        for words in ("--machine=this", "--seconds=0.5", "--report=accesses"):
            self.assertIn(words, calls[1])
        self.assertEqual(self.run_bound(rows, self.simulator(), "--sim_seconds=9").returncode, 0)
        calls = (self.directory / "calls").read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(calls), 4, "another window counts something else")
        none, centr = bound.files.read_rows(self.directory / "out.csv")
        self.assertEqual((none["per_s"], none["rounds"], none["lines_us"], none["of_bound_pct"],
                          none["counted_on"]),
                         ("2e+06", "3", "0.15", "30", "simulated this, 2 cores, 1 sockets, model 10"))
        self.assertEqual((centr["per_s"], centr["of_bound_pct"], centr["bound_us"]), ("", "", "0.15"))
        self.assertRegex(done.stdout, r"none +2,000,000 +0\.5 +0\.15 .* lines")

    def test_a_mistake_is_named_in_one_sentence(self):
        fails = self.stand_in("fails", "echo 'logjam: no room' >&2; exit 3")
        for rows, simulator, sentence in (
                ([row("recover --log=none")], self.simulator(), "has no rows of `run` or `micro`"),
                ([row(machine="simulated this, 2 cores")], self.simulator(), "on a real machine alone"),
                ([row(machine="a CPU")], self.simulator(), "says nothing of its cores"),
                ([row("run --log=centr")], fails, "ended with status 3: logjam: no room")):
            with self.subTest(sentence=sentence):
                done = self.run_bound(rows, simulator)
                self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
                self.assertIn(sentence, done.stderr)
        with self.assertRaises(Refused):
            rates("what,how\nlines,x\n")

    @unittest.skipUnless(os.environ.get("LOGJAM"), "LOGJAM names no binary")
    def test_the_rates_are_of_one_core_and_of_all_cores(self):
        said = bound.ended([os.environ["LOGJAM"], "machine", "rates", "--test=machine_repetitions:1"])
        measured = list(csv.DictReader(io.StringIO(said)))
        numbers = sorted({int(rate["threads"]) for rate in measured})
        self.assertEqual(numbers[0], 1)
        self.assertLessEqual(numbers[-1], len(os.sched_getaffinity(0)))
        self.assertEqual(collections.Counter(rate["what"] for rate in measured), {
            what: count * len(numbers) for what, count in
            (("lines", 5), ("bytes", 2), ("instructions", 2))})
        of = bound.Rates(measured)
        for what in bound.WHAT[:3]:
            self.assertGreater(of.of(what, 1), 0)
        self.assertIsNone(of.of("writes", 1))

    def test_the_printed_table_has_an_empty_cell_for_what_is_missing(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            bound.print_bounds([judged(row(), counts("3")), judged(row(unsteady="x"), counts("3"))])
        self.assertIn("1 unsteady rows do not count.", said.getvalue())
        self.assertNotRegex(said.getvalue(), r"(?<![.\d])0(?![.\d])")


if __name__ == "__main__":
    unittest.main()
