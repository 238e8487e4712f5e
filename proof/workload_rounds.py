#!/usr/bin/env python3
"""Kills and recovers every workload with all log schemes, and lets it verify its database.

A round runs a workload at a small scale with a history, kills it (SIGKILL) at a random moment after
the load or right after an acknowledgement, and recovers its log. The round passes if `logjam
recover` succeeds: the log is usable, the workload's own checks hold, and the rows agree with the
history, so no acknowledged transaction is lost (proof/history/with_history.h). Schemes and
protocols alternate; the seed determines the other settings. Only the ledger proves that the run was
serializable (proof/crash_rounds.py).
"""

import collections
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile

import rounds
from experiments import files
from experiments.errors import Refused, run_main, whole

THREADS = 4
HISTORY_MB = 96  # a run that fills its history ends by itself


def arguments():
    made = rounds.options(__doc__, rounds=20, seed=random.randrange(10**9))
    made.add_argument("--first", type=whole, default=0,
                      help="the number of the first round, to continue earlier rounds")
    made.add_argument("--workloads", default="", help="some of them, separated by commas")
    made.add_argument("--csv", help="append a row a round to this file")
    return made.parse_args()


def small_scales():
    """Maps each workload to its small scales: lists of flags."""
    scales = collections.defaultdict(list)
    with open(os.path.join(rounds.ROOT, "proof", "small_scales.txt"), encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("#"):
                workload, *flags = line.split()
                scales[workload].append([flag.replace("=proof/", f"={rounds.ROOT}/proof/")
                                         for flag in flags])
    return scales


def with_commands(logjam):
    """Returns the names of the workloads that a log of commands can hold."""
    listed = subprocess.run([logjam, "list", "workloads", "--json"], capture_output=True, text=True,
                            check=True).stdout
    return {each["name"] for each in json.loads(listed)["workloads"] if each["has_commands"]}


def play(logjam, directory, workload, scales, scheme, device, protocol, seed, dies_itself=False):
    """Runs one round at one of the scales. `device` is the device that the scheme needs, or "".
    With `dies_itself` each run kills itself after an acknowledgement, however slow the run is.
    Returns the round's row, and the command lines with the programs' output."""
    draw = random.Random(seed)
    commit = draw.choice(["sync", "pipelined"])
    records = rounds.draw_records(scheme, draw)
    moment = draw.uniform(0.02, 0.8)
    # A kill by this script usually finds the workers waiting. So about half of the runs kill
    # themselves right after an acknowledgement, when other transactions are not yet durable.
    die_after = draw.choice([0, draw.randrange(1, 2 ** draw.randrange(1, 14))])
    die = "ledger_die_after" if workload == "ledger" else "history_die_after"
    if dies_itself:
        moment, die_after = 60, draw.randrange(1, 128)
    history = os.path.join(directory, "history")
    count = draw.choice([1, 2])  # a log of the scheme `scm` cannot be striped
    devices = [os.path.join(directory, str(i)) for i in range(1 if scheme == "scm" else count)]
    shutil.rmtree(directory, ignore_errors=True)
    for path in devices:
        os.makedirs(path)
    run = [logjam, "run", f"--workload={workload}", f"--log={scheme}", f"--cc={protocol}",
           f"--commit={commit}", f"--log_records={records}", f"--wal_dir={','.join(devices)}",
           f"--seed={seed}", f"--threads={THREADS}", "--seconds=60", "--warmup=0",
           "--log_prealloc_mb=1", "--log_buffer_mb=4", *draw.choice(scales),
           f"--history={history}", f"--history_mb={HISTORY_MB}", f"--test={die}:{die_after}",
           *([f"--device={device}"] if device else [])]
    recover = [logjam, "recover", f"--wal_dir={','.join(devices)}", "--threads=2", "--verify",
               f"--history={history}"]
    row = {"workload": workload, "log": scheme, "cc": protocol, "commit": commit,
           "log_records": records, "devices": len(devices),
           "killed_after_ms": round(moment * 1000), "committing": "", "acknowledged": "",
           "recovered": "", "result": "", "seed": seed}
    ended, said = rounds.run_and_kill(run, history, moment)
    if ended not in (-signal.SIGKILL, 0):
        row["result"] = f"ended with status {ended}"
        return row, f"{' '.join(run)}\n{said}"
    status, said, recovered = rounds.recover(recover)
    row["recovered"] = "" if recovered is None else recovered
    found = rounds.JUDGED.search(said)
    if found:
        row["committing"], row["acknowledged"] = int(found[1]), int(found[2])
    row["result"] = "verified" if status == 0 and found else "FAILED"
    return row, f"{' '.join(run)}\n{' '.join(recover)}\n{said}"


def main():
    given = arguments()
    combinations = rounds.combinations(given.logjam)
    schemes = len({scheme for scheme, _, _ in combinations})
    commands = with_commands(given.logjam)
    scales = small_scales()
    workloads = given.workloads.split(",") if given.workloads else sorted(scales)
    missing = [workload for workload in workloads if workload not in scales]
    if missing:
        raise Refused(f"no line in proof/small_scales.txt for {', '.join(missing)}")
    directory = tempfile.mkdtemp(prefix="logjam-rounds-")
    print(f"{given.rounds} rounds of each workload from seed {given.seed}, {schemes} schemes, "
          f"{len(combinations) // schemes} protocols")
    rows = []
    for index, workload in enumerate(workloads):
        for number in range(given.first, given.first + given.rounds):
            # Each workload pairs schemes and protocols differently.
            combination = combinations[(number + index * schemes) % len(combinations)]
            if combination[0] == "command" and workload not in commands:
                continue
            row, said = play(given.logjam, os.path.join(directory, "log"), workload,
                             scales[workload], *combination,
                             given.seed + index * given.rounds + number)
            rows.append(row)
            if row["result"] != "verified":
                print(f"{row}\n{said}", flush=True)
        done = [r for r in rows if r["workload"] == workload]
        good = [r for r in done if r["result"] == "verified"]
        print(f"{workload:14} {len(good)} of {len(done)} verified, "
              f"{len({r['log'] for r in done})} schemes, {len({r['cc'] for r in done})} protocols, "
              f"{sum(r['committing'] for r in good)} transactions committing, "
              f"{sum(r['acknowledged'] for r in good)} acknowledged, "
              f"{sum(r['recovered'] for r in good)} recovered", flush=True)
    shutil.rmtree(directory, ignore_errors=True)
    for row in rows if given.csv else ():
        files.append_row(given.csv, row)
    results = collections.Counter(r["result"] for r in rows)
    print(", ".join(f"{count} {result}" for result, count in results.items()))
    return 0 if set(results) == {"verified"} else 1


if __name__ == "__main__":
    run_main(main)
