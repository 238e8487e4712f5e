"""Which tests a change concerns, and whether they fail. scripts/run_tests.py runs them; this file
reads its logs meanwhile, and ends it at the first failure."""

import contextlib
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import typing

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "scripts"))

import mutant_tree  # noqa: E402
import run_tests  # noqa: E402

SUITE = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+),", re.MULTILINE)
FAILED = re.compile(r"^failed: (.+)$", re.MULTILINE)
COUNTED = re.compile(r"^\d+ passed, \d+ failed$", re.MULTILINE)
NOT_STARTED = "(the test program does not list its tests)"
TOOK_MEMORY = "(the tests take most of the memory)"
# A test hangs if it runs this long, and this number of times as long as in the unchanged tree.
PATIENCE_SECONDS = 40
PATIENCE_TIMES = 10
LOOK_EVERY_SECONDS = 0.5
# A mutant may never stop to allocate or to write. Tests reserve far more addresses than memory.
MOST_OF_THE_MEMORY = 0.75
MOST_FILE_BYTES = 16 << 30


def suites_of(paths):
    return sorted({suite for path in paths
                   for suite in SUITE.findall(path.read_text(encoding="utf-8"))})


def patterns_of(suites):
    return [pattern for suite in suites
            for pattern in (f"{suite}.*", f"*/{suite}.*", f"{suite}/*")]


def concerned(tree, path):
    """Returns patterns of the tests that a change of this file concerns: tests named as the file is,
    or which include its header; if there are none, those of its room. A scheme and a protocol also
    have the tests that carry their name, crash rounds among them."""
    tests = sorted(pathlib.Path(tree, "tests").rglob("*_test.cc"))
    file = pathlib.Path(path)
    include = f'#include "{file.with_suffix(".h")}"'
    near = [test for test in tests if test.stem == file.stem + "_test" or
            include in test.read_text(encoding="utf-8")]
    room = pathlib.Path(tree, "tests", file.parts[0])
    near = near or [test for test in tests if room in test.parents]
    named = [f"*/*{file.stem}*"] if path.startswith(("logging/schemes/", "cc/")) else []
    return patterns_of(suites_of(near)) + named


def of_style(tree):
    """Returns patterns of the tests that judge how a source is written."""
    return patterns_of(suites_of(pathlib.Path(tree, "tests/style").glob("*_test.cc")))


class Played(typing.NamedTuple):
    """How some tests went."""
    failed: list
    hung: bool = False
    ms: dict = {}  # how long each took, if all have ended


class Suite:
    """The tests of a tree but those that match `without`. `ms` are the times of tests while the
    tree is unchanged."""

    def __init__(self, tree, without, ms=None, patience_seconds=PATIENCE_SECONDS):
        self._tree, self._without = pathlib.Path(tree), without
        self._ms, self._patience = ms or {}, patience_seconds
        self._logs = None

    def play(self, patterns, without=(), build=None, to_the_end=False):
        """Runs the tests that match, until one fails or hangs, or to the end. `build`: the folder
        with the programs, if it is not the tree's own."""
        build = build or self._tree / "build"
        without = [*self._without, *without]
        chosen = ":".join(patterns) + ("-" + ":".join(without) if without else "")
        self._logs = build / "tests/all.logs"
        shutil.rmtree(self._logs, ignore_errors=True)  # those of other tests
        with tempfile.TemporaryDirectory(prefix="logjam-mutant-", ignore_cleanup_errors=True) as \
                files, open(os.path.join(files, "said"), "w+", encoding="utf-8") as said:
            process = subprocess.Popen(
                [self._tree / "scripts/run_tests.py", build / "tests/all", "",
                 "--gtest_filter=" + chosen],
                env=mutant_tree.environment(
                    TMPDIR=files, LOGJAM=str(build / "logjam"),
                    CXXFLAGS=mutant_tree.FLAGS),  # one test compiles
                cwd=self._tree, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
                start_new_session=True, preexec_fn=limit_files)
            try:
                stopped = self._watch(process, to_the_end)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            said.seek(0)
            return stopped or self._read(said.read())

    def _watch(self, process, to_the_end):
        """Waits until the tests have ended, or one has failed. Returns None if they have ended."""
        since = {}  # when a log began to say that a test runs
        while process.poll() is None:
            time.sleep(LOOK_EVERY_SECONDS)
            now = time.monotonic()
            if resident_bytes(process.pid) > MOST_OF_THE_MEMORY * memory_bytes():
                return Played([TOOK_MEMORY])
            for log in self._logs.glob("*.log") if not to_the_end else ():
                with contextlib.suppress(FileNotFoundError):
                    tests, running, _ = run_tests.read_log(log)
                    failed = [test.name for test in tests
                              if test.result == "FAILED" and test is not running]
                    if failed:
                        return Played(failed)
                    if running:
                        begun = since.setdefault((log, running.name), now)
                        if now - begun > self._longest_seconds(running.name):
                            return Played([running.name], hung=True)
        return None

    def _longest_seconds(self, test):
        return self._patience + PATIENCE_TIMES * self._ms.get(test, 0) / 1000

    def _read(self, said):
        if not COUNTED.search(said):
            return Played([NOT_STARTED])
        ms = {test.name: test.ms for log in self._logs.glob("*.log")
              for test in run_tests.read_log(log)[0]}
        return Played(FAILED.findall(said), ms=ms)


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_FILE_BYTES,) * 2)


def memory_bytes():
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def resident_bytes(group):
    """Returns how much memory the processes of a group occupy."""
    pages = 0
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            pages += int(fields[21]) if int(fields[2]) == group else 0  # proc(5): rss, pgrp
    return pages * os.sysconf("SC_PAGE_SIZE")
