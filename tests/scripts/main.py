#!/usr/bin/python3
"""Runs the tests of scripts/ with the command line and the output of a GoogleTest binary, so that
scripts/run_tests.py needs only one form. A test's name is Class.method.

usage: tests/scripts/main.py [--gtest_list_tests] [--gtest_filter=PATTERN:PATTERN...]
"""

import ast
import fnmatch
import importlib
import pathlib
import sys
import time
import traceback
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent.parent / "scripts"), str(HERE)]

from experiments.errors import end_with_usage  # noqa: E402


def name_of(test):
    return f"{type(test).__name__}.{test._testMethodName}"


def flattened(suite):
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from flattened(one)
        else:
            yield one


class Result(unittest.TestResult):
    """Prints the lines that GoogleTest would print."""

    def startTest(self, test):
        super().startTest(test)
        self._begun = time.monotonic()
        self._ended = ""
        print(f"[ RUN      ] {name_of(test)}", flush=True)

    def stopTest(self, test):
        super().stopTest(test)
        ms = (time.monotonic() - self._begun) * 1000
        print(f"[{self._ended or '       OK'} ] {name_of(test)} ({ms:.0f} ms)", flush=True)

    def _fail(self, error):
        self._ended = "  FAILED "
        traceback.print_exception(*error, file=sys.stdout)

    def addError(self, test, err):
        super().addError(test, err)
        self._fail(err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._fail(err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            print(f"in {subtest}:")
            self._fail(err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._ended = "  SKIPPED"
        print(reason)


def may_have(path, patterns):
    """Returns whether a class of this file may have a test that matches one of the patterns. Reads
    the file without importing it: its imports may take most of a second (matplotlib, scipy)."""
    classes = [one.name for one in ast.parse(path.read_bytes()).body
               if isinstance(one, ast.ClassDef)]
    of_classes = [pattern.partition(".")[0] if "." in pattern else "*" for pattern in patterns]
    return any(fnmatch.fnmatchcase(name, pattern) for name in classes for pattern in of_classes)


def main(folder=HERE):
    end_with_usage(__doc__)
    tests, patterns = [], ["*"]
    for word in sys.argv[1:]:
        if word.startswith("--gtest_filter="):
            patterns = word.partition("=")[2].split(":")
        elif not word.startswith("--gtest_"):
            sys.exit(__doc__.split("\n\n")[1])
    for path in sorted(folder.glob("*_test.py")):
        if may_have(path, patterns):
            module = importlib.import_module(path.stem)
            tests += flattened(unittest.defaultTestLoader.loadTestsFromModule(module))
    tests = [test for test in tests
             if any(fnmatch.fnmatchcase(name_of(test), pattern) for pattern in patterns)]
    if "--gtest_list_tests" in sys.argv:
        suites = {}
        for test in tests:
            suite, _, method = name_of(test).partition(".")
            suites.setdefault(suite, []).append(method)
        for suite, methods in suites.items():
            print(f"{suite}.", *[f"  {method}" for method in methods], sep="\n")
        return 0
    result = Result()
    unittest.TestSuite(tests).run(result)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
