#!/usr/bin/python3
"""Runs GoogleTest binaries in many short processes, several at once. The last line is
"N passed, N failed".

usage: scripts/run_tests.py BINARY[:BINARY...] [SANITIZER] [ARGS FOR THE BINARIES...]

SANITIZER is thread, address, undefined or empty. Most tests wait for devices instead of computing,
so four processes run on each core; LOGJAM_TEST_JOBS sets another number. In total there are several
times more processes than run at once, each with a share of the tests, so that no process delays the
end for long.

For a test with many parameters (schemes, protocols, rounds), the script randomly chooses as many
parameters as tests/draws.txt says. It prints the seed, which follows from the commit;
LOGJAM_TEST_SEED sets another seed. LOGJAM_TEST_SHARE=1/4 chooses a quarter of the remaining tests.
With LOGJAM_TEST_ALL, or with a filter in ARGS, nothing is chosen randomly.

A test that ends its process counts as failed, and the tests after it run in a new process. A
process counts as hanging if, since its last test ended, it has used TEST_TIMEOUT seconds (600) of
processor time, or hardly any for as many seconds. (Other programs may delay a test without a hang.)
A hanging process gets SIGABRT. The script repeats the output of failed tests at the end. All output
stays in the last BINARY's .logs/, or in build/tests/. The tests' own files are in one temporary
directory, which the script removes if no test failed.
"""

import collections
import concurrent.futures
import fnmatch
import fractions
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from experiments.errors import end_with_usage, run_main

ROOT = pathlib.Path(__file__).resolve().parent.parent
# handle_segv=2: the sanitizer reports a bad access even if a test installs a handler.
# die_after_fork=0: a forking test may follow a test that left a library's threads running, and its
# child starts threads.
SANITIZERS = {
    "": {},
    "thread": {"TSAN_OPTIONS": "halt_on_error=1 handle_segv=2 second_deadlock_stack=1 "
                               "die_after_fork=0"},
    "address": {"ASAN_OPTIONS": "halt_on_error=1 handle_segv=2 strict_string_checks=1"},
    "undefined": {"UBSAN_OPTIONS": "halt_on_error=1 print_stacktrace=1"},
}
JOBS = int(os.environ.get("LOGJAM_TEST_JOBS", 4 * os.cpu_count()))
PROCESSES_A_JOB = 8
TIMEOUT_SECONDS = int(os.environ.get("TEST_TIMEOUT", 600))
LOOK_SECONDS = 5
SLOWEST = 20
# Runs with --sync=auto would measure the disk, each in its own new directory.
os.environ.setdefault("LOGJAM_SYNC", "dsync")
BEGIN = re.compile(r"\[ RUN      \] (\S+)$")
# Other text without a line break may precede these matches on the same line.
END = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] ([^\s,]+)(?:, where .*)? \((\d+) ms\)$")


def seed_of_commit():
    """Returns 1 in a tree without git."""
    if shutil.which("git") is None:
        return 1
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return int(head[:7] or "1", 16)


def drawn(names, seed):
    lines = (ROOT / "tests/draws.txt").read_text(encoding="utf-8").splitlines()
    counts = [(line.split()[0], int(line.split()[1])) for line in lines
              if line and not line.startswith("#")]
    tests = collections.defaultdict(list)
    for name in names:
        tests[re.sub(r"^([^./]+/[^/]+)/[^/]+$", r"\1", name)].append(name)
    chosen = set()
    for test, variants in tests.items():
        count = next((count for pattern, count in counts if fnmatch.fnmatchcase(test, pattern)),
                     len(variants))
        chosen.update(random.Random(f"{seed} {test}").sample(variants, min(count, len(variants))))
    chosen = [name for name in names if name in chosen]
    share = fractions.Fraction(os.environ.get("LOGJAM_TEST_SHARE", "1"))
    fewer = set(random.Random(seed).sample(chosen, -int(-len(chosen) * share // 1)))
    return [name for name in chosen if name in fewer]


class Test:
    def __init__(self, name):
        self.name, self.result, self.ms, self.output = name, "FAILED", 0, []


def list_tests(command):
    listed = subprocess.run([*command, "--gtest_list_tests"], stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    names, suite = [], ""
    for line in listed.splitlines():
        word = line.split("#")[0].strip()
        if not line.startswith(" "):
            suite = word if word.endswith(".") else ""  # other lines do not name tests
        elif suite:
            names.append(suite + word)
    return names


def read_log(log):
    """Returns the tests of a process in order, the test that did not end, and other output."""
    tests, outside, running = [], [], None
    for line in log.read_text(errors="replace").splitlines():
        begin, end = BEGIN.search(line), END.search(line)
        if begin:
            running = Test(begin[1])
            tests.append(running)
        elif running and end and end[2] == running.name:
            running.result, running.ms = end[1], int(end[3])
            running.output.append(line[:end.start()])
            running = None
        else:
            (running.output if running else outside).append(line)
    return tests, running, outside


def processor_seconds(process):
    """Returns the processor time of a process, its descendants and their ended children."""
    parents, ticks = {}, {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        pid = int(stat.parent.name)
        parents[pid], ticks[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    mine = set()
    while more := {pid for pid, parent in parents.items()
                   if pid == process or parent in mine} - mine:
        mine |= more
    return sum(ticks[pid] for pid in mine) / os.sysconf("SC_CLK_TCK")


def run_process(command, log):
    """Returns how the process failed, or "" if it succeeded."""
    with open(log, "wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL)
    since, said, used = time.monotonic(), 0, 0
    while process.poll() is None:
        try:
            process.wait(LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        if log.stat().st_size != said:  # a test has begun, ended or failed
            since, said, used = time.monotonic(), log.stat().st_size, processor_seconds(process.pid)
            continue
        now = processor_seconds(process.pid) - used
        idle = time.monotonic() - since > TIMEOUT_SECONDS and now < TIMEOUT_SECONDS / 100
        if process.poll() is None and (idle or now > TIMEOUT_SECONDS):
            process.send_signal(signal.SIGABRT)  # the log then shows where the process hung
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
            process.wait()
            return (f"the process hung, and was ended: {now:.0f} s of processor time in "
                    f"{time.monotonic() - since:.0f} s without a test's end")
    status = process.returncode
    if status < 0:
        return f"the process was ended by {signal.Signals(-status).name}"
    return f"the process ended with status {status}" if status else ""


def run_tests(command, names, log):
    """Runs these tests, in one process unless a test ends the process."""
    tests = []
    while names:
        ending = run_process([*command, "--gtest_filter=" + ":".join(names)], log)
        ran, running, outside = read_log(log)
        tests += ran
        if running:
            running.output.append(ending or "the process ended before the test did")
        elif ending and all(test.result != "FAILED" for test in ran):
            culprit = Test(f"(outside of any test: {log.name})")
            culprit.output = [*outside[-50:], ending]
            return [*tests, culprit]
        if not running:
            return tests
        done = {test.name for test in ran}
        names = [name for name in names if name not in done]
        log = log.with_name(log.stem + "-again.log")
    return tests


def dealt_out(command, names):
    """Returns (command, tests) for each process. A process of a Python script, which starts slowly
    because of pandas, gets a whole class."""
    if command[0].endswith(".py"):
        suites = {}
        for name in names:
            suites.setdefault(name.partition(".")[0], []).append(name)
        return [(command, of_suite) for of_suite in suites.values()]
    processes = min(len(names), JOBS * PROCESSES_A_JOB)
    return [(command, names[i::processes]) for i in range(processes)]


def report(tests, seconds, logs, files):
    passed = sum(test.result == "OK" for test in tests)
    skipped = sum(test.result == "SKIPPED" for test in tests)
    failed = [test for test in tests if test.result == "FAILED"]
    for test in failed:
        print(f"== FAILED: {test.name}", *test.output, sep="\n")
    print(f"== the {SLOWEST} slowest tests, in seconds:")
    for test in sorted(tests, key=lambda test: -test.ms)[:SLOWEST]:
        print(f"{test.ms / 1000:8.1f}  {test.name}")
    print(f"{len(tests)} tests in {seconds:.0f} s, {JOBS} processes at once; all output: {logs}/")
    if skipped:
        print(f"{skipped} skipped")
    for test in failed:
        print(f"failed: {test.name}")
    if failed:
        print(f"files that the tests left: {files}/")
    print(f"{passed} passed, {len(failed) if tests else 1} failed")
    return passed > 0 and not failed


def main():
    end_with_usage(__doc__)
    if len(sys.argv) < 2 or len(sys.argv) > 2 and sys.argv[2] not in SANITIZERS:
        sys.exit(__doc__.split("\n\n")[1])
    binaries = [pathlib.Path(path).resolve() for path in sys.argv[1].split(":")]
    commands = [[str(binary), "--gtest_color=no", *sys.argv[3:]] for binary in binaries]
    os.chdir(ROOT)
    os.environ["LOGJAM_ROOT"] = str(ROOT)
    for name, value in SANITIZERS[sys.argv[2] if len(sys.argv) > 2 else ""].items():
        os.environ[name] = f"{value} {os.environ.get(name, '')}"
    seed = os.environ.setdefault("LOGJAM_TEST_SEED", str(seed_of_commit()))
    listed = [list_tests(command) for command in commands]
    if not os.environ.get("LOGJAM_TEST_ALL") and not any("--gtest_filter" in word
                                                         for word in sys.argv[3:]):
        there = sum(map(len, listed))
        listed = [drawn(of_binary, seed) for of_binary in listed]
        print(f"{sum(map(len, listed))} of {there} tests; LOGJAM_TEST_SEED={seed} draws them again")
    names = [name for of_binary in listed for name in of_binary]
    logs = binaries[-1].with_name(binaries[-1].name + ".logs")
    if binaries[-1].suffix == ".py":  # so that Python writes no files among the sources
        logs = ROOT / "build/tests" / (binaries[-1].parent.name + ".logs")
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    files = os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="logjam-tests-")
    start = time.monotonic()
    parts = [part for command, of_binary in zip(commands, listed)
             for part in dealt_out(command, of_binary)]
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        done = pool.map(lambda part: run_tests(*part[1], logs / f"{part[0]:03}.log"),
                        enumerate(parts))
        tests = [test for part in done for test in part]
    not_run = set(names) - {test.name for test in tests}
    for name in sorted(not_run):
        tests.append(Test(name))
        tests[-1].output = ["did not run"]
    well = report(tests, time.monotonic() - start, logs, files)
    if well:
        shutil.rmtree(files, ignore_errors=True)
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    run_main(main)
