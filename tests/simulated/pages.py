"""Runs the commands of a page for pages_test.py.

A command is a line of an indented block. After a backslash the command continues on the next line.
Fenced blocks contain output, code or a file's text. Every command of a page runs in a scratch copy
of the tree, in the page's order, unless the tables below name another check. No command is omitted:
a command that is in no table runs.
"""

import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LONGEST_SECONDS = 120
NOT_COPIED = shutil.ignore_patterns("build*", ".git", "results", "__pycache__", ".ccache")
CUT_OFF = 141  # exit status of a pipe whose last program (`head`) ends before the others

# Replacements that make a command faster, and keep its files in the scratch directory.
SHORTER = (
    (r"/var/tmp/logjam|/tmp/simulated", "wal"),
    (r"\bbuild/logjam (run|micro)\b(?!.* --primitive=)", r"\g<0> --warmup=0.05 --log_prealloc_mb=16 --log_buffer_mb=4"),
    (r"--seconds=\d+(?= |$)", "--seconds=0.2"),
    (r"--seconds=0\.00\d+", "--seconds=0.0005"),
    (r"--flagfile=config/ycsb-a\.flags",
     r"\g<0> --ycsb_records=20000 --warmup=0.05 --seconds=0.2"),
    (r"--ycsb_records=100000\b", "--ycsb_records=2000"),
    (r"--checkpoint=s:2\b", "--checkpoint=s:0.05"),
    (r"--workload=tpcb\b", r"\g<0> --tpcb_accounts=1000"),
    (r"--workload=tpcc\b", r"\g<0> --tpcc_items=1000"),
    (r"sweep\.sh (.*) log=every threads=1,2 rounds=3 -- ",
     r"sweep.sh --tries=1 \1 log=centr,silo threads=2 rounds=1 -- --ycsb_records=20000 "),
    (r"crash_rounds\.py (.*)--seed=S\b", r"crash_rounds.py \1--seed=7"),
    (r"workload_rounds\.py --rounds=\d+", "workload_rounds.py --rounds=1 --workloads=tpcb"),
)


def _targets(command, tree):
    """Runs a make command with `make -n`, which checks that its targets exist."""
    tree.run(command.replace("make", "make -n", 1))


def _filter_finds_tests(command, tree):
    listed = tree.run(command + " --gtest_list_tests")
    if not re.search(r"^  \w", listed, re.MULTILINE):
        raise Wrong(f"{command}\nruns no test")


def _options_are_known(command, tree):
    """Adds an unknown option to the command, and expects the script to refuse only this option."""
    try:
        tree.run(command + " --one-too-many")
    except Wrong as refusal:
        if str(refusal).rstrip().endswith("unrecognized arguments: --one-too-many"):
            return
        raise
    raise Wrong(f"{command}\naccepts any option")


def _is_executable(command, tree):
    if not os.access(tree.path / command.split()[0], os.X_OK):
        raise Wrong(f"{command}\nis not executable")


# Commands that do not run: (pattern, check, reason).
OTHERWISE = (
    (r"make\b", _targets, "may take minutes: `make -n` finds the target and all that it needs"),
    (r"\.ci/run$", _is_executable, "runs `make test`: it must be executable"),
    (r"(LOGJAM=\S+ )?(build/tests/all|tests/\w+/main\.py) --gtest_filter", _filter_finds_tests,
     "`make test` runs these tests: the filter must find one"),
    (r"proof/(corruptions|chaos)\.py", _options_are_known,
     "a minute, and `make test` runs fewer of them: its options must be known"),
    (r"scripts/products\.sh", _is_executable,
     "a quarter of an hour, with servers that it installs: it must be executable"),
    (r"proof/judge_\w+\.py", _options_are_known,
     "minutes, with programs that are not Debian's: its options must be known"),
)

# Sections whose commands another test runs: (page, heading, reason).
ELSEWHERE = (
    ("CONTRIBUTING.md", "Add a scheme: a newcomer's walk",
     "followed by tests/proof/added_scheme_test.cc"),
    ("CONTRIBUTING.md", "Make a release",
     "a release changes the repository; tests/scripts/archive_test.py builds an archive"),
)


class Wrong(Exception):
    """A command of a page fails. The message names the command and the reason."""


@dataclasses.dataclass(frozen=True)
class Command:
    page: str
    line: int
    section: str
    text: str


def commands(page, text):
    """Returns the commands of a page, in the page's order."""
    found, section, fenced, block, blank, pending = [], "", False, False, True, None
    for number, line in enumerate(text.splitlines(), 1):
        block = line.startswith("    ") and (block or blank)
        blank = not line.strip()
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and line.startswith("#"):
            section = line.lstrip("#").strip()
        elif not fenced and block:
            first, words = pending or (number, "")
            words = f"{words} {line.strip()}".strip()
            if words.endswith("\\"):
                pending = (first, words[:-1].rstrip())
            else:
                found.append(Command(page, first, section, words))
                pending = None
    return [one for one in found if not one.text.startswith("#")]


def quick(text):
    """Returns the fast form of a command."""
    text = re.sub(r"\s+#.*$", "", text)
    for pattern, shorter in SHORTER:
        text = re.sub(pattern, shorter, text)
    return text


class Tree:
    """A scratch copy of the tree, with the tested binaries."""

    def __init__(self, path, logjam, simulated):
        self.path = pathlib.Path(path)
        shutil.copytree(ROOT, self.path, ignore=NOT_COPIED, dirs_exist_ok=True, symlinks=True)
        for folder in ("build/tests", "build-sim", "wal"):
            (self.path / folder).mkdir(parents=True)
        for place, binary in (("build/logjam", logjam), ("build-sim/logjam", simulated),
                              ("build/tests/all", logjam.parent / "tests" / "all"),
                              ("build-sim/logjam.blocks", simulated.with_suffix(".blocks"))):
            (self.path / place).symlink_to(binary)

    def run(self, command):
        """Runs a command as a reader's shell would; returns the command's output."""
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("LOGJAM", "LOGJAM_ROOT", "MAKEFLAGS", "MAKELEVEL")}
        process = subprocess.Popen(["bash", "-o", "pipefail", "-c", command], cwd=self.path,
                                   env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   start_new_session=True)
        try:
            printed, _ = process.communicate(timeout=LONGEST_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            printed, _ = process.communicate()
            raise Wrong(f"{command}\nran for {LONGEST_SECONDS} s:\n{printed[-3000:]}") from None
        if process.returncode not in (0, CUT_OFF):
            raise Wrong(f"{command}\nended with status {process.returncode}:\n{printed[-3000:]}")
        return printed


def check(command, tree):
    """Runs or checks one command of a page, as the tables say; returns a line about the command."""
    for page, section, reason in ELSEWHERE:
        if (command.page, command.section) == (page, section):
            return f"elsewhere   {command.text}  [{reason}]"
    text = quick(command.text)
    for pattern, how, reason in OTHERWISE:
        if re.match(pattern, text):
            how(text, tree)
            return f"checked     {text}  [{reason}]"
    start = time.monotonic()
    tree.run(text)
    return f"ran {time.monotonic() - start:5.1f} s {text}"


def check_page(page, text, tree):
    """Checks all commands of a page. Prints a line for each command; returns the faults."""
    faults = []
    for command in commands(page, text):
        try:
            print(check(command, tree), flush=True)
        except Wrong as fault:
            faults.append(f"{command.page}:{command.line}: {fault}")
    return faults
