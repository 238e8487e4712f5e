"""Provides experiments and rows for the tests of scripts/experiments."""

import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from experiments.definition import Experiment
from experiments.runner import Outcome

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FIGURES = ROOT / "scripts" / "figures.py"
LONGEST_SECONDS = 3600  # scripts/run_tests.py ends a process that hangs
ORIGIN = {"revision": "abc", "binary": "def", "machine": "a CPU, 2 cores, Linux 6", "flags": ""}


def experiment(**fields):
    """Returns an experiment with two axes, `log` and `threads`, unless `fields` replace them."""
    return Experiment({"id": "T1", "title": "a test", "claim": "none",
                       "grid": [{"axes": {"log": ["centr", "eleda"], "threads": [1, 2]}}],
                       **fields}, "t1.toml")


def row(number, value, **axes):
    """Returns a row of a store. `value` is the row's tps."""
    return {"round": str(number), **{f"axis_{name}": str(of) for name, of in axes.items()},
            "thrown_away": "0", "tps": str(value), "scheme_counters": "segments=3.00", **ORIGIN}


def outcome(value=1.0, **origin):
    return Outcome({"tps": str(value), **ORIGIN, **origin}, {})


def printed(function, *given):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        function(*given)
    return said.getvalue()


class InADirectory(unittest.TestCase):
    if not hasattr(unittest.TestCase, "enterContext"):  # before Python 3.11
        def enterContext(self, manager):
            entered = manager.__enter__()
            self.addCleanup(manager.__exit__, None, None, None)
            return entered

    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.directory = pathlib.Path(held.name)

    def run_figures(self, *words, check=True):
        """Runs scripts/figures.py with short runs; returns the ended process."""
        done = subprocess.run([sys.executable, str(FIGURES), *map(str, words)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                              timeout=LONGEST_SECONDS,
                              env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        if check and done.returncode != 0:
            self.fail(f"{words} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done

    def report(self):
        """Writes the report; returns its pages in Markdown, one after the other."""
        self.run_figures("report", f"--results={self.directory}")
        return "".join(path.read_text(encoding="utf-8")
                       for path in sorted((self.directory / "report").glob("*.md")))
