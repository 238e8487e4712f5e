"""Tests that scripts replace only regular files, follow no link, and never wait for a file. Tests
that only one process at a time holds a lock, and that a lock leaves no file."""

import os
import stat
import subprocess
import sys
from unittest import mock

from fixtures import LONGEST_SECONDS, ROOT, InADirectory

from experiments import files
from experiments.errors import Refused
from experiments.files import alone


class OddFiles(InADirectory):
    """A directory with an entry of each kind that is not a regular file."""

    def setUp(self):
        super().setUp()
        self.victim = self.directory / "victim"
        self.victim.write_text("precious")

    def odd(self, name="odd.csv"):
        """Yields one path several times. Each time, an entry of another kind is at this path."""
        path = self.directory / name
        makers = [lambda: path.symlink_to(self.victim),
                  lambda: path.symlink_to(self.directory / "no"),
                  lambda: path.symlink_to("/dev/zero"),
                  lambda: os.mkfifo(path), path.mkdir]
        if os.geteuid() == 0:
            makers.append(lambda: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5)))
        for make in makers:
            make()
            before = os.lstat(path)
            yield path
            after = os.lstat(path)
            self.assertEqual((before.st_mode, before.st_ino), (after.st_mode, after.st_ino))
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        self.assertEqual(self.victim.read_text(), "precious")
        self.assertFalse((self.directory / "no").exists())


class PlainFiles(OddFiles):
    def test_what_is_no_plain_file_is_neither_read_nor_replaced_nor_appended_to(self):
        for path in self.odd():
            for use in (files.read_text, files.is_there, files.appending,
                        lambda path: files.write(path, "new")):
                with self.subTest(path=os.lstat(path)), self.assertRaisesRegex(
                        Refused, "odd.csv is a .*, where a plain file belongs"):
                    use(path)

    def test_a_file_that_has_no_end_or_is_far_too_long_is_refused(self):
        sparse = self.directory / "sparse"
        sparse.touch()
        os.truncate(sparse, 1 << 40)
        with self.assertRaisesRegex(Refused, "longer than"):
            files.read_bytes(sparse)
        with mock.patch("experiments.files.MOST_BYTES", 10):  # the size of this file is 0
            with self.assertRaisesRegex(Refused, "longer than"):
                files.read_bytes("/proc/self/status")

    def test_a_reader_s_own_file_may_be_named_by_a_link_and_an_endless_device_not(self):
        link = self.directory / "link"
        link.symlink_to(self.victim)
        self.assertEqual(files.read_text(link, links=True), "precious")
        with self.assertRaisesRegex(Refused, "/dev/zero is a device"):
            files.read_text("/dev/zero", links=True)

    def test_a_replaced_file_keeps_its_mode_and_leaves_another_name_of_it_as_it_was(self):
        backup = self.directory / "backup"
        os.link(self.victim, backup)
        self.victim.chmod(0o640)
        files.write(self.victim, "new")
        self.assertEqual((self.victim.read_text(), backup.read_text()), ("new", "precious"))
        self.assertEqual(stat.S_IMODE(self.victim.stat().st_mode), 0o640)

    def test_a_write_that_fails_leaves_the_file_before_it_and_no_other(self):
        with mock.patch("experiments.files.os.replace", side_effect=KeyboardInterrupt):
            with self.assertRaises(KeyboardInterrupt):
                files.write(self.victim, "new")
        with self.assertRaisesRegex(Refused, "no UTF-8"):
            files.write(self.victim, "\udcff")
        self.assertEqual(self.victim.read_text(), "precious")
        self.assertEqual(list(self.directory.iterdir()), [self.victim])


class Locks(OddFiles):
    def test_a_planted_lock_is_refused_and_stays(self):
        for path in self.odd("x.csv.lock"):
            with self.subTest(path=os.lstat(path)), self.assertRaisesRegex(Refused, "is a "):
                with alone(self.directory / "x.csv"):
                    self.fail("held")

    def test_a_file_that_is_no_lock_is_refused_and_stays(self):
        lock = self.directory / "x.csv.lock"
        lock.write_text("notes")
        with self.assertRaisesRegex(Refused, "is no lock"), alone(self.directory / "x.csv"):
            self.fail("held")
        self.assertEqual(lock.read_text(), "notes")

    def test_other_spellings_and_links_of_a_directory_are_the_same_place(self):
        place = self.directory / "d"
        place.mkdir()
        (self.directory / "link").symlink_to(place)
        with alone(place / "x.csv"):
            for other in ("d/./x.csv", "d/../d//x.csv", "link/x.csv"):
                with self.subTest(other=other), self.assertRaisesRegex(Refused, "is in use"):
                    with alone(f"{self.directory}/{other}"):
                        self.fail("held twice")


class Alone(InADirectory):
    def test_the_second_is_refused_until_the_first_has_ended(self):
        place = self.directory / "new" / "x.csv"
        with alone(place):
            with self.assertRaisesRegex(Refused, "x.csv is in use by another"), alone(place):
                self.fail("held twice")
        with alone(place):
            pass
        self.assertEqual(list(place.parent.iterdir()), [])

    def test_a_lock_whose_file_the_other_removed_meanwhile_is_not_taken(self):
        place = self.directory / "x.csv"
        lock, flock = self.directory / "x.csv.lock", __import__("fcntl").flock

        def removed_before(file, how):
            if not removed:
                removed.append(os.unlink(lock))  # the holder ends after open(), before flock()
            flock(file, how)

        removed = []
        with mock.patch("experiments.files.fcntl.flock", removed_before), alone(place):
            self.assertTrue(lock.exists())
            with self.assertRaises(Refused), alone(place):
                self.fail("held twice")


class OutputsOfScripts(OddFiles):
    def test_a_script_s_output_is_refused_in_one_sentence_before_it_runs(self):
        scripts = {"checkpoints.py": ["--disk={}"],
                   "holdout.py": ["--logjam=/bin/true", "--points={}"], "products.py": ["--csv={}"],
                   "sweep.sh": ["--out={}", "threads=1"],
                   "compile_commands.py": ["{}", "g++"], "block_costs.py": ["/bin/true", "{}"]}
        for path in self.odd():
            for script, words in scripts.items():
                with self.subTest(script=script, path=os.lstat(path)):
                    done = subprocess.run(
                        [ROOT / "scripts" / script, *(word.format(path) for word in words)],
                        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                        timeout=LONGEST_SECONDS, cwd=ROOT, env={
                            **os.environ, "LOGJAM": sys.executable, "PYTHONDONTWRITEBYTECODE": "1"})
                    self.assertEqual((done.returncode, done.stdout), (2, ""))
                    self.assertRegex(done.stderr, "odd.csv is a .*, where a plain file belongs\n")
                    self.assertEqual(done.stderr.count("\n"), 1)
