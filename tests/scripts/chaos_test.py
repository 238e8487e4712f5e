"""Tests that some cases of proof/chaos.py find nothing, and that it detects wrong programs."""

import os
import pathlib
import random
import re
import stat
import subprocess
import sys
import tempfile
import unittest

from fixtures import LONGEST_SECONDS, ROOT

sys.path.append(str(ROOT / "proof"))

import chaos_judge  # noqa: E402
import chaos_logs  # noqa: E402
import chaos_plants  # noqa: E402

CASES = 2000 if os.environ.get("LOGJAM_TEST_ALL") else 200
PATIENCE_SECONDS = 60
# Wrong actions that a program takes before its work, and the names that the Judge gives them.
DEEDS = {
    "changes a file outside": ("dump", "echo x >> outside/precious", "outside"),
    "changes a mode outside": ("dump", "chmod 600 outside/precious", "outside"),
    "makes a file outside": ("dump", "echo x > outside/folder/new", "outside"),
    "removes a link's target": ("dump", "rm -r outside/folder", "outside"),
    "aborts": ("dump", "kill -ABRT $$", "signal"),
    "prints a stack trace": ("dump", "echo '*** Check failure stack trace: ***' >&2; exit 3",
                             "trace"),
    "says two sentences": ("dump", "echo 'logjam: a' >&2; echo 'logjam: b' >&2; exit 2", "words"),
    "says nothing": ("dump", "exit 2", "words"),
    "ends with a strange status": ("dump", "echo logjam: a >&2; exit 1", "status"),
    "prints what a terminal obeys": ("dump", r"printf '\033[2J'", "terminal"),
    "prints invalid UTF-8": ("dump", r"printf '\377'", "terminal"),
    "writes when it should read": ("dump", "touch log0/new", "changed"),
    "removes a user's file": ("dump", "rm -f log0/notes", "foreign"),
    "trims what is needed": ("trim", "rm -f log0/manifest log0/manifest.copy", "harmed"),
    "refuses a log that is whole": ("recover", "echo logjam: no >&2; exit 2", "refused"),
}


def plant_notes(hand):
    hand.write("log0/notes", b"of somebody\n", "echo of somebody")
    hand.kept.append("log0/notes")


@unittest.skipUnless(os.environ.get("LOGJAM"), "LOGJAM names no binary")
class Chaos(unittest.TestCase):
    """The tests of this class share a log."""

    @classmethod
    def setUpClass(cls):
        held = tempfile.TemporaryDirectory()
        cls.addClassCleanup(held.cleanup)
        cls.directory = pathlib.Path(held.name)
        cls.logjam = os.path.realpath(os.environ["LOGJAM"])
        # Finds a seed whose log has one directory, several lives, and no sealing checkpoint.
        for seed in range(1000):
            cls.log = chaos_logs.Log(cls.logjam, random.Random(seed),
                                     str(cls.directory / str(seed)), [("centr", None)])
            if cls.log.lives > 1 and not cls.log.sealed and len(cls.log.directories) == 1:
                break

    def place(self):
        """Copies the log to a new directory. Returns a Hand for the directory."""
        place = tempfile.mkdtemp(dir=self.directory)
        self.log.put(place)
        chaos_plants.make_outside(place, self.log.folder)
        return chaos_plants.Hand(self.log, place)

    def judge(self, hand, when="never", deed=":"):
        """Returns a Judge of a program that runs the shell command `deed` before its work."""
        program = pathlib.Path(hand.place + ".sh")
        program.write_text(f"#!/bin/sh\ncase $1 in {when}) {deed} ;; esac\n"
                           f"exec {self.logjam} \"$@\"\n", encoding="utf-8")
        program.chmod(0o755)
        return chaos_judge.Judge(str(program), hand, PATIENCE_SECONDS)

    def test_a_few_hundred_cases_find_nothing(self):
        seed = os.environ.get("LOGJAM_TEST_SEED", str(random.randrange(10**9)))
        done = subprocess.run([sys.executable, ROOT / "proof/chaos.py", f"--cases={CASES}",
                               f"--seed={seed}", f"--logjam={self.logjam}",
                               f"--patience={PATIENCE_SECONDS}"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=LONGEST_SECONDS,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, rf"\n{CASES} cases of \d+ logs, \d+ commands, 0 found, ")

    def test_what_a_program_does_wrong_is_seen(self):
        for name, (when, deed, kind) in DEEDS.items():
            with self.subTest(name):
                hand = self.place()
                plant_notes(hand)
                judge = self.judge(hand, when, deed)
                {"dump": chaos_judge.dump, "trim": chaos_judge.trim,
                 "recover": chaos_judge.recover}[when](judge, random.Random(1))
                self.assertEqual(judge.found[0][0], kind, judge.found)

    def test_a_program_that_does_nothing_wrong_is_not_accused(self):
        for command in (chaos_judge.dump, chaos_judge.trim, chaos_judge.recover,
                        chaos_judge.recover_by_history, chaos_judge.recover_and_checkpoint,
                        chaos_judge.continue_run):
            with self.subTest(command.__name__):
                hand = self.place()
                plant_notes(hand)
                judge = self.judge(hand)
                command(judge, random.Random(1))
                self.assertEqual(judge.found, [])

    def test_a_command_that_does_not_end_is_seen(self):
        judge = self.judge(self.place(), "dump", "exec sleep 1000")
        judge.patience = 0.1
        chaos_judge.dump(judge, random.Random(1))
        self.assertIn(("hang", "it did not end"), judge.found)

    def test_a_loss_that_is_not_named_is_seen(self):
        hand = self.place()
        hand.harms("log0/stream-0.log.db")  # a file of run 1; run 2 has noted its length
        os.truncate(hand.path("log0/stream-0.log.db"), 4096)
        judge = self.judge(hand, "recover",
                           'case "$*" in *history*) ;; *) echo recovered; exit 0 ;; esac')
        chaos_judge.recover(judge, random.Random(1))
        self.assertEqual([kind for kind, _ in judge.found], ["lost"])

    def test_a_plant_that_does_not_harm_the_log_leaves_its_files(self):
        for name, (_, function) in chaos_plants.PLANTS.items():
            for seed in range(8):
                hand = self.place()
                before = {own: chaos_judge.entry_of(hand.path(own)) for own in hand.own}
                function(hand, random.Random(f"{name} {seed}"))
                if hand.harm == chaos_plants.NOTHING:
                    with self.subTest(f"{name} {seed}: {hand.did}"):
                        self.assertEqual(before, {
                            own: chaos_judge.entry_of(hand.path(own)) for own in before})

    def test_a_seed_plants_the_same_again(self):
        for name, (_, function) in chaos_plants.PLANTS.items():
            did = []
            for _ in range(2):
                hand = self.place()
                function(hand, random.Random(name))
                did.append([re.sub(re.escape(hand.place), "", words) for words in hand.did])
            self.assertEqual(*did)


class Trees(unittest.TestCase):
    def test_a_tree_knows_types_modes_bytes_and_links(self):
        with tempfile.TemporaryDirectory() as top:
            def put(name, data):
                with open(os.path.join(top, name), "wb") as file:
                    file.write(data)

            put("file", b"a")
            os.symlink("file", os.path.join(top, "link"))
            os.mkfifo(os.path.join(top, "fifo"))
            before = chaos_judge.tree_of(top)
            self.assertEqual(sorted(before), ["fifo", "file", "link"])
            self.assertEqual(before["fifo"][0], stat.S_IFIFO)
            put("file", b"b")
            os.unlink(os.path.join(top, "link"))
            os.symlink("fifo", os.path.join(top, "link"))
            os.chmod(os.path.join(top, "fifo"), 0o600)
            put("new\n", b"")
            self.assertEqual(
                chaos_judge.differences(before, chaos_judge.tree_of(top)),
                ["$'new\\x0a' is new", "fifo was changed", "file was changed", "link was changed"])
