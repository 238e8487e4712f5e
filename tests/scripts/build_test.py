"""Tests that joined sources keep their meaning, and that tests are drawn by a seed."""

import os
import pathlib
import tempfile
import subprocess
import sys
import unittest
from unittest import mock

from fixtures import ROOT, InADirectory

sys.path.insert(0, str(ROOT / "scripts"))
import lint  # noqa: E402 (found in scripts/)
import run_tests  # noqa: E402
import tidy  # noqa: E402


class Units(InADirectory):
    def put(self, name, text):
        path = self.directory / name
        path.write_text(text, encoding="utf-8")
        return name

    def units(self, *words):
        """Maps each unit's path to its files. A file that is compiled alone is a unit."""
        said = subprocess.run([ROOT / "scripts/batches.py", "units", *words], cwd=self.directory,
                              text=True, stdout=subprocess.PIPE, check=True).stdout.split()
        return {path: [line.split('"')[1] for line in
                       (self.directory / path).read_text(encoding="utf-8").splitlines()
                       if line.startswith("#line")] or [path] for path in said}

    def file(self, number, own, code=""):
        return self.put(f"{number}.cc", f"namespace {{\nint {own}(int) {{ return 1; }}\n"
                                        f"}}  // namespace\n{code}\n")

    def test_files_are_joined_unless_a_name_of_one_is_in_another(self):
        files = [self.file(0, "apple"), self.file(1, "pear"), self.file(2, "apple"),
                 self.file(3, "plum", "int x = pear(1);"), self.put("4.cc", "#define FIG 1\n")]
        for unit in self.units(*files).values():
            self.assertFalse({"0.cc", "2.cc"} <= set(unit), unit)
            self.assertFalse({"1.cc", "3.cc"} <= set(unit), unit)
            self.assertTrue("4.cc" not in unit or unit == ["4.cc"])
        self.assertLess(len(self.units(*files)), len(files))

    def test_tests_of_a_folder_are_joined_whatever_their_names(self):
        files = [self.file(number, "apple") for number in range(4)]
        (path, unit), = self.units("--tests", *files).items()
        self.assertEqual(unit, files)
        text = (self.directory / path).read_text(encoding="utf-8")
        self.assertIn("namespace 0_cc {", text)

    def test_a_file_that_changes_leaves_its_unit_until_many_have(self):
        files = [self.file(number, f"own_{number}") for number in range(12)]
        (path, before), = self.units(*files).items()
        self.assertEqual(sorted(before), sorted(files))
        self.file(3, "other")
        after = self.units(*files)
        self.assertEqual(after["3.cc"], ["3.cc"])
        self.assertEqual(after[path], [one for one in before if one != "3.cc"])
        self.assertIn("new.cc", self.units(*files, self.file("new", "own_new")))
        for number in range(10):
            self.file(number, f"another_{number}")
        self.assertEqual(len(self.units(*files)), 1)

    def test_a_unit_that_stays_is_not_written_again(self):
        files = [self.file(number, f"own_{number}") for number in range(4)]
        (path, _), = self.units(*files).items()
        os.utime(self.directory / path, (1, 1))
        self.units(*files)
        self.assertEqual((self.directory / path).stat().st_mtime, 1)


class Goals(unittest.TestCase):
    def test_make_without_a_goal_builds_the_program(self):
        said = subprocess.run(["make", "--dry-run", "--always-make"], cwd=ROOT, text=True,
                              stdout=subprocess.PIPE, check=True).stdout
        self.assertRegex(said, r" -o build/logjam ")


class Tidy(unittest.TestCase):
    def test_only_a_change_of_code_counts(self):
        for old, new, differs in (("int a;  // one\n", "// two\nint  a;\n", False),
                                  ("int a;", "int b;", True), ('f("//a");', 'f("//b");', True),
                                  ("int a;  // NOLINT(x)", "int a;", True), ("", "int a;", True)):
            self.assertEqual(tidy.differs(old, new), differs, (old, new))


class CheckedFiles(InADirectory):
    def checked(self):
        """Returns the files that `make format` formats, and those that scripts/lint.py reads."""
        said = subprocess.run(
            ["make", "-sf", ROOT / "Makefile", "format"], cwd=self.directory, text=True,
            env={**os.environ, "PATH": f"{self.directory}/tools:{os.environ['PATH']}"},
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
        return [sorted(path.removeprefix("./") for path in paths if path.endswith((".cc", ".h")))
                for paths in (said.splitlines(), lint.listed_files(self.directory))]

    def test_new_files_are_formatted_and_linted_too_with_git_and_without(self):
        for name in ("known.cc", "a new.h", "build/unit.cc", "tools/clang-format"):
            path = self.directory / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("#!/bin/sh\nshift; printf '%s\\n' \"$@\"\n", encoding="utf-8")
            path.chmod(0o755)
        self.assertEqual(self.checked(), [["a new.h", "known.cc"]] * 2)
        (self.directory / ".gitignore").write_text("/build*/\n", encoding="utf-8")
        for words in ("init -q", "add known.cc"):
            subprocess.run(["git", *words.split()], cwd=self.directory, check=True)
        self.assertEqual(self.checked(), [["a new.h", "known.cc"]] * 2)


class Draws(InADirectory):
    names = ([f"All/SchemeTest.A/{i}" for i in range(40)] +
             [f"All/SchemeTest.B/{i}" for i in range(40)] + ["Ring.Fits", "Locks/0.One"])

    def setUp(self):
        # `.ci/run` sets another LOGJAM_TEST_SHARE, which would change the drawn tests.
        self.enterContext(mock.patch.dict(os.environ, {"LOGJAM_TEST_SHARE": "1"}))

    def test_a_seed_draws_the_same_and_another_seed_others(self):
        drawn = run_tests.drawn(self.names, "7")
        self.assertEqual(drawn, run_tests.drawn(self.names, "7"))
        self.assertNotEqual(drawn, run_tests.drawn(self.names, "8"))

    def test_each_test_draws_as_many_as_the_table_says_and_others_stay_whole(self):
        table = (ROOT / "tests/draws.txt").read_text(encoding="utf-8").split()
        count = int(table[table.index("All/SchemeTest.*") + 1])
        drawn = run_tests.drawn(self.names, "7")
        parts = [[one.rpartition("/")[2] for one in drawn if f".{test}/" in one] for test in "AB"]
        self.assertEqual([len(part) for part in parts], [count, count])
        self.assertNotEqual(*parts)
        self.assertEqual(drawn[-2:], ["Ring.Fits", "Locks/0.One"])

    def test_all_variants_are_drawn_in_some_commits(self):
        left = set(self.names)
        for seed in range(60):
            left.difference_update(run_tests.drawn(self.names, str(seed)))
        self.assertEqual(left, set())

    def test_a_share_takes_a_part_of_the_draw(self):
        whole = run_tests.drawn(self.names, "7")
        with mock.patch.dict(os.environ, {"LOGJAM_TEST_SHARE": "1/4"}):
            part = run_tests.drawn(self.names, "7")
        self.assertEqual(len(part), -(-len(whole) // 4))
        self.assertLessEqual(set(part), set(whole))

    def test_a_process_that_sleeps_or_spins_for_ever_is_ended(self):
        with (tempfile.TemporaryDirectory() as directory,
              mock.patch.multiple(run_tests, TIMEOUT_SECONDS=2, LOOK_SECONDS=0.1)):
            log = pathlib.Path(directory, "log")
            for hangs in ("exec sleep 100000", "while :; do :; done"):
                self.assertRegex(run_tests.run_process(["bash", "-c", hangs], log), "^the process hung")
            self.assertEqual(run_tests.run_process(["true"], log), "")
            self.assertEqual(run_tests.run_process(["false"], log), "the process ended with status 1")

    def test_each_line_of_the_table_is_about_a_test_that_is_there(self):
        sources = "".join(path.read_text(encoding="utf-8")
                          for path in pathlib.Path(ROOT, "tests").rglob("*_test.cc"))
        for line in (ROOT / "tests/draws.txt").read_text(encoding="utf-8").splitlines():
            if line.startswith("#"):
                continue
            prefix, _, suite = line.split()[0].rpartition(".")[0].partition("/")
            self.assertRegex(sources, rf"INSTANTIATE_TEST_SUITE_P\(\s*{prefix},\s*{suite},", line)
