"""Tests that each script prints its usage, and answers a mistake with a sentence, no traceback."""

import argparse
import concurrent.futures
import errno
import os
import subprocess
import sys
import unittest
from unittest import mock

from fixtures import LONGEST_SECONDS, ROOT, InADirectory

from experiments import errors

SCRIPTS = sorted(path for folder in ("scripts", "proof", "tests/scripts", "tests/simulated")
                 for path in (ROOT / folder).iterdir()
                 if path.suffix in (".py", ".sh") and os.access(path, os.X_OK)
                 and path.name not in ("install_deps.sh", "fake_logjam.py", "fake_simulator.py",
                                       "without_io_uring.py"))


class Scripts(InADirectory):
    def ended(self, *words):
        """Runs each script with these words in an empty directory. Returns the ended processes."""
        def run(path):
            return subprocess.run([path, *words], cwd=self.directory, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=LONGEST_SECONDS,
                                  check=False)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(zip(SCRIPTS, pool.map(run, SCRIPTS)))

    def test_help_is_the_usage(self):
        self.assertGreater(len(SCRIPTS), 20)
        for path, done in self.ended("--help"):
            with self.subTest(path=path):
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn("usage:", done.stdout)

    def test_a_mistake_is_no_traceback_and_leaves_nothing(self):
        for path, done in self.ended("--no_such_flag=1"):
            with self.subTest(path=path):
                self.assertNotEqual(done.returncode, 0)
                self.assertNotIn("Traceback", done.stderr)
                self.assertTrue(done.stderr.strip())
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_a_program_that_is_not_there_is_named(self):
        for path, done in self.ended("--logjam=/nowhere/logjam"):
            with self.subTest(path=path):
                self.assertNotEqual(done.returncode, 0)
                self.assertNotIn("Traceback", done.stderr)


class Numbers(unittest.TestCase):
    def test_a_number_of_a_command_line_has_ascii_digits(self):
        for text in ("\u0661\u0662", "\u00b2", "1_0", " 1", "1 ", "+1", "", "x", "9" * 5000, "1.5"):
            with self.subTest(text=text[:9]), self.assertRaises(argparse.ArgumentTypeError):
                errors.whole(text)
        for text in ("\u0661", "1_0.5", " 1", "", "x", "0x1p3", "1e999", "infinity"):
            with self.subTest(text=text), self.assertRaises(argparse.ArgumentTypeError):
                errors.number(text)
        self.assertEqual([errors.whole(text) for text in ("0", "-1", "12")], [0, -1, 12])
        self.assertEqual([errors.number(text) for text in ("1", ".5", "-2e-3")], [1, 0.5, -0.002])

    def test_no_script_reads_its_numbers_otherwise(self):
        for path in (ROOT / "scripts").rglob("*.py"):
            self.assertNotRegex(path.read_text(encoding="utf-8"),
                                r"add_argument\([^)]*type=(int|float)\b", path)


class Endings(InADirectory):
    def ending(self, error):
        """Returns the status and the output of a script whose main() raises this error."""
        with mock.patch("sys.stderr") as stderr, self.assertRaises(SystemExit) as ended:
            errors.run_main(mock.Mock(side_effect=error), "x.py", "stopped")
        words = "".join(call.args[0] for call in stderr.write.call_args_list)
        return ended.exception.code, words.strip()

    def test_what_ends_a_script_is_a_status_and_a_sentence(self):
        refused = OSError(errno.EROFS, "Read-only file system", "/usr/share/x.csv")
        full = OSError(errno.ENOSPC, "No space left on device", "/mnt/x.csv")
        for error, ending in (
                (errors.Refused("no"), (2, "x.py: no")),
                (refused, (2, "x.py: /usr/share/x.csv: Read-only file system")),
                (full, (3, "x.py: /mnt/x.csv: No space left on device")),
                (KeyboardInterrupt(), (130, "stopped"))):
            with self.subTest(error=error):
                self.assertEqual(self.ending(error), ending)

    def test_a_name_that_is_no_text_is_said_all_the_same(self):
        code = ("import sys; sys.path.insert(0, 'scripts')\n"
                "from experiments.errors import run_main\n"
                "run_main(lambda: print('\\udcff.csv'))")
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True,
                              text=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "\\udcff.csv\n", ""))

    def imported(self, code, **environment):
        """Returns the ended process of code that imports what scripts share."""
        code = f"import sys; sys.path.insert(0, 'scripts')\n{code}"
        return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True,
                              text=True, check=False, env={**os.environ, **environment})

    def test_a_missing_module_of_python_is_one_sentence(self):
        done = self.imported("sys.modules['scipy'] = None\nimport experiments.compare")
        self.assertEqual((done.returncode, done.stdout), (errors.BAD_INPUT, ""))
        self.assertRegex(done.stderr, "^[^\n]*no Python module scipy [^\n]*make deps[^\n]*\n$")
        done = self.imported("import experiments, no_module_of_ours")
        self.assertIn("Traceback", done.stderr)

    def test_the_modules_of_a_virtual_environment_serve(self):
        major, minor = sys.version_info[:2]
        site = self.directory / f"lib/python{major}.{minor}/site-packages"
        site.mkdir(parents=True)
        (site / "only_there.py").write_text("found = 7\n", encoding="utf-8")
        code = "import experiments, only_there; print(only_there.found)"
        self.assertEqual(self.imported(code, VIRTUAL_ENV=str(self.directory)).stdout, "7\n")
        self.assertNotEqual(self.imported(code, VIRTUAL_ENV="/none").returncode, 0)

    def test_a_reader_that_is_gone_is_no_traceback(self):
        code = ("import sys; sys.path.insert(0, 'scripts')\n"
                "from experiments.errors import run_main\n"
                "run_main(lambda: print('x' * 100000, flush=True))")
        done = subprocess.run(["bash", "-c", '"$0" -c "$1" | true; exit "${PIPESTATUS[0]}"',
                               sys.executable, code], cwd=ROOT, capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stderr), (errors.NOBODY_READS, ""))
