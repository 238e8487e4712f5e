#!/usr/bin/env python3
"""Kills and recovers every workload with all log schemes, and lets it verify its database.

A round runs a workload at a small scale with a history, kills it (SIGKILL) at a random moment after
the load or right after an acknowledgement, and recovers its log. The round passes if `logjam
recover` succeeds: the log is usable, the workload's own checks hold, and the rows are as the history
wants them, so that nothing acknowledged is lost (proof/history/checker.h). Schemes and protocols
take turns. Commit policy, record granularity, number of devices and the moment of the kill follow
from the seed. Whether transactions saw what a serial order allows is for the ledger to prove
(proof/crash_rounds.py).
"""

import argparse
import collections
import csv
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from experiments.runner import schemes_of

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COLUMNS = ["workload", "log", "cc", "commit", "log_records", "devices", "killed_after_ms",
           "committing", "acknowledged", "recovered", "result", "seed"]
# Small scales load fast, and their transactions conflict often.
SCALES = {
    "ledger": [["--ledger=keys:1000"]],
    "micro-update": [["--micro_update_rows=1000", f"--micro_update_kind={kind}"]
                     for kind in ("update-1", "update-5-read-5", "update-10")],
    "oltp": [["--oltp_rows=1000", "--oltp_tables=2", "--oltp_range_size=10"]],
    "tatp": [["--tatp_subscribers=200"]],
    "tpcb": [["--tpcb_branches=2", "--tpcb_accounts=500"]],
    "tpcc": [["--tpcc_warehouses=2", "--tpcc_items=1000", "--tpcc_customers=50"]],
    "ycsb": [["--ycsb_records=1000", f"--ycsb_workload={name}"]
             for name in ("A", "B", "D", "E", "F", "dbx1000", "poplar-hybrid", "rows-16", "silo")],
}
THREADS = 4
HISTORY_MB = 96  # a run that fills it ends by itself


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=20, help="of each workload")
    parser.add_argument("--first", type=int, default=0,
                        help="the number of the first one, to go on behind earlier rounds")
    parser.add_argument("--seed", type=int, default=random.randrange(10**9))
    parser.add_argument("--workloads", default="", help="some of them, separated by commas")
    parser.add_argument("--logjam", default=os.path.join(ROOT, "build", "logjam"))
    parser.add_argument("--directory", help="where the logs go (default: a temporary one)")
    parser.add_argument("--csv", help="append a row a round to this file")
    return parser.parse_args()


def listed(logjam, what):
    lines = subprocess.run([logjam, "list", what], capture_output=True, text=True, check=True)
    return [line.split()[0] for line in lines.stdout.splitlines()[1:] if line.strip()]


def begun(history):
    """Whether the run has made its history, which it does before its first transaction."""
    try:
        with open(history, "rb") as file:
            return file.read(6) == b"logjam"
    except FileNotFoundError:
        return False


def kill_when_begun(command, history, seconds):
    """Runs the command and kills it `seconds` after it has begun, unless it has ended. Returns its
    exit status, which is -SIGKILL if it was killed, and its stderr."""
    with tempfile.TemporaryFile("w+") as said:
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
        patience = time.monotonic() + 60
        while run.poll() is None and not begun(history) and time.monotonic() < patience:
            time.sleep(0.005)
        try:
            run.wait(seconds)
        except subprocess.TimeoutExpired:
            run.kill()
        run.wait()
        said.seek(0)
        return run.returncode, said.read()


def play(logjam, directory, workload, scheme, device, protocol, seed):
    """Plays one round. `device` is the device that the scheme needs, or "" if it needs none in
    particular. Returns the round's row, and the command lines with the programs' output."""
    draw = random.Random(seed)
    commit = draw.choice(["sync", "pipelined"])
    records = draw.choice(["txn", "op"])
    if scheme == "command":
        records = "txn"  # a command cannot be split into operations
    moment = draw.uniform(0.02, 0.8)
    # A kill from outside usually finds the workers waiting. One from inside, right after an
    # acknowledgement, finds work that is not yet durable.
    die_after = draw.choice([0, draw.randrange(1, 2 ** draw.randrange(1, 14))])
    die = "ledger_die_after" if workload == "ledger" else "history_die_after"
    history = os.path.join(directory, "history")
    count = draw.choice([1, 2])
    if scheme == "scm":
        count = 1  # its log cannot be striped
    devices = [os.path.join(directory, str(i)) for i in range(count)]
    shutil.rmtree(directory, ignore_errors=True)
    for path in devices:
        os.makedirs(path)
    run = [logjam, "run", f"--workload={workload}", f"--log={scheme}", f"--cc={protocol}",
           f"--commit={commit}", f"--log_records={records}", f"--wal_dir={','.join(devices)}",
           f"--seed={seed}", f"--threads={THREADS}", "--seconds=60", "--warmup=0",
           "--log_prealloc_mb=1", "--log_buffer_mb=4", *draw.choice(SCALES[workload]),
           f"--history={history}", f"--history_mb={HISTORY_MB}", f"--test={die}:{die_after}",
           *([f"--device={device}"] if device else [])]
    recover = [logjam, "recover", f"--wal_dir={','.join(devices)}", "--threads=2", "--verify",
               f"--history={history}"]
    row = {"workload": workload, "log": scheme, "cc": protocol, "commit": commit,
           "log_records": records, "devices": len(devices),
           "killed_after_ms": round(moment * 1000), "committing": "", "acknowledged": "",
           "recovered": "", "seed": seed}
    ended, said = kill_when_begun(run, history, moment)
    if ended not in (-signal.SIGKILL, 0):
        row["result"] = f"ended with status {ended}"
        return row, f"{' '.join(run)}\n{said}"
    recovered = subprocess.run(recover, capture_output=True, text=True, timeout=120)
    found = re.search(r"^recovered +(\d+) transactions", recovered.stdout, re.MULTILINE)
    row["recovered"] = int(found[1]) if found else ""
    found = re.search(r"^ok   history: (\d+) transactions (?:that write|reached commit), (\d+) "
                      r"(?:were )?acknowledged", recovered.stdout, re.MULTILINE)
    if found:
        row["committing"], row["acknowledged"] = int(found[1]), int(found[2])
    row["result"] = "verified" if recovered.returncode == 0 and found else "FAILED"
    return row, f"{' '.join(run)}\n{' '.join(recover)}\n{recovered.stdout}{recovered.stderr}"


def main():
    given = arguments()
    schemes = [(name, flags.get("device", ""))
               for name, flags in schemes_of(given.logjam).items()]
    protocols = listed(given.logjam, "protocols")
    workloads = given.workloads.split(",") if given.workloads else listed(given.logjam, "workloads")
    missing = [w for w in workloads if w not in SCALES]
    if missing:
        sys.exit(f"no scale in SCALES for {', '.join(missing)}")
    directory = given.directory or tempfile.mkdtemp(prefix="logjam-rounds-")
    print(f"{given.rounds} rounds of each workload from seed {given.seed}, {len(schemes)} schemes, "
          f"{len(protocols)} protocols")
    rows = []
    for index, workload in enumerate(workloads):
        for number in range(given.first, given.first + given.rounds):
            # The scheme changes with every round. Each workload pairs schemes and protocols
            # differently.
            seed = given.seed + index * given.rounds + number
            row, said = play(given.logjam, os.path.join(directory, "log"), workload,
                             *schemes[number % len(schemes)],
                             protocols[(number // len(schemes) + number % len(schemes) + index)
                                       % len(protocols)],
                             seed)
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
    shutil.rmtree(directory if not given.directory else os.path.join(directory, "log"),
                  ignore_errors=True)
    if given.csv:
        new = not os.path.exists(given.csv)
        with open(given.csv, "a", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerows(rows)
    results = collections.Counter(r["result"] for r in rows)
    print(", ".join(f"{count} {result}" for result, count in results.items()))
    return 0 if set(results) == {"verified"} else 1


if __name__ == "__main__":
    sys.exit(main())
