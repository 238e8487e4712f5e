#!/usr/bin/python3
"""Runs the tests that take nights: all combinations, every sanitizer, crash rounds, corruptions,
chaos in directories, tables, histories, schedules, fuzzers.

The parts run in rounds. Each round gives each part one turn with the next seed, so a longer
campaign covers more and repeats nothing. build/campaign.csv has a line for each ended turn: the
time, the revision, the part, its seed, the seconds, whether the turn found something, and the
command, which repeats the turn. The script continues after the file's last line, and repeats a
stopped turn. The output of a turn that found something stays in build/campaign/.
"""
import datetime
import os
import pathlib
import signal
import subprocess
import sys
import time

from experiments import files
from experiments.errors import number, parser, run_main

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
ROUNDS_A_TURN = 200
SANITIZED = "LOGJAM_TEST_ALL=1 make test PARTS='cc cli engine logging workloads'"
# The command of each part, with the turn's seed. On two cores, a turn takes minutes to two hours.
PARTS = {
    "test": "LOGJAM_TEST_ALL=1 make test",
    "test-sim": "LOGJAM_TEST_ALL=1 make test-sim",
    "test-tools": "LOGJAM_TEST_ALL=1 make test-tools",
    "thread": f"{SANITIZED} SAN=thread",
    "address": f"{SANITIZED} SAN=address",
    "undefined": f"{SANITIZED} SAN=undefined",
    "clang": "make WERROR=1 CXX=clang++ build-clang/logjam build-clang/tests/all",
    "tidy": "make tidy",
    "crashes": f"proof/crash_rounds.py --rounds={ROUNDS_A_TURN} --seed={{first}}",
    "lives": f"proof/crash_rounds.py --lives --rounds={ROUNDS_A_TURN} --seed={{first}}",
    "workloads": "proof/workload_rounds.py --rounds=19 --seed={seed}",
    "corruptions": "proof/corruptions.py --corruptions=100000",
    "chains": "proof/corruptions.py --runs --corruptions=20000 --first_log={first}",
    "chaos": "proof/chaos.py --cases=20000 --seed={seed}",
    "explore": "proof/explore.py --rounds=100 --seed={first} --out=build/explored/{seed}",
    "histories": "scripts/install_deps.sh judge && make build/logjam && "
                 "proof/judge_history.py --rounds=76 --plant --seed={first}",
    "tables": "scripts/install_deps.sh judge && make build/logjam && "
              "proof/judge_tables.py --rounds=19 --break --seed={first}",
    "fuzz": "make fuzz SECONDS=400 SEED={seed}",
    "systems": "for at in 'bookworm g++-11' 'bookworm clang++-14' 'trixie g++-13' 'trixie g++-14' "
               "'trixie clang++-19'; do scripts/systems.sh $at user read-only build test demo || "
               "exit; done",
}


def revision():
    return subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, check=False).stdout.strip() or "unknown"


class Campaign:
    def __init__(self, path):
        self.path = path
        self.done = files.read_rows(path) if files.is_there(path) else []

    def next_turn(self, parts):
        """Returns the part with the fewest turns (of several, the first), and its next seed."""
        turns = {part: sum(line["part"] == part for line in self.done) for part in parts}
        part = min(parts, key=turns.get)
        return part, turns[part] + 1

    def play(self, part, seed, left_seconds):
        """Runs a turn; returns whether it has ended."""
        command = PARTS[part].format(seed=seed, first=seed * ROUNDS_A_TURN)
        log = BUILD / "campaign" / f"{part}-{seed}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        begin = time.monotonic()
        files.write(log, "")
        with files.appending(log) as out:
            process = subprocess.Popen(command, shell=True, cwd=ROOT, stdout=out,
                                       stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                       env={**os.environ, "LOGJAM_TEST_SEED": str(seed)},
                                       start_new_session=True)
            while process.poll() is None:
                seconds = time.monotonic() - begin
                print(f"\r{len(self.done)} turns; {part}, seed {seed}: {seconds:.0f} s ", end="",
                      file=sys.stderr, flush=True)
                try:
                    process.wait(1)
                except subprocess.TimeoutExpired:
                    if seconds < left_seconds:
                        continue
                    return end(process)
                except KeyboardInterrupt:
                    end(process)
                    raise
        line = {"time": datetime.datetime.now().isoformat(timespec="seconds"),
                "revision": revision(), "part": part, "seed": seed,
                "seconds": f"{time.monotonic() - begin:.0f}",
                "result": "found" if process.returncode else "clean", "command": command}
        files.append_row(self.path, line)
        self.done.append(line)
        print(f"\r{part}, seed {seed}: {line['seconds']} s, {line['result']}"
              + (f", see {log}" if process.returncode else "") + " " * 20)
        if process.returncode == 0:
            log.unlink()
        return True


def end(process):
    os.killpg(process.pid, signal.SIGTERM)
    process.wait()
    return False


def main():
    options = parser(__doc__)
    options.add_argument("--hours", type=number, default=8)
    options.add_argument("--only", choices=PARTS, help="one part")
    given = options.parse_args()
    until = time.monotonic() + given.hours * 3600
    campaign = Campaign(BUILD / "campaign.csv")
    before = len(campaign.done)
    parts = [given.only] if given.only else list(PARTS)
    try:
        while time.monotonic() < until:
            part, seed = campaign.next_turn(parts)
            if not campaign.play(part, seed, until - time.monotonic()):
                break
    except KeyboardInterrupt:
        pass
    turns = campaign.done[before:]
    found = [line for line in turns if line["result"] == "found"]
    print(f"\n{len(turns)} turns, {len(found)} found something; {campaign.path.relative_to(ROOT)} "
          "has them all")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    run_main(main)
