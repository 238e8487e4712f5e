#!/usr/bin/env python3
"""Kills and recovers every workload with all log schemes, and lets it verify its database.

A round runs a workload at a small scale, kills it (SIGKILL) at a random moment after the load, and
recovers its log. The round passes if `logjam recover` succeeds: the log is usable, and the
workload's own checks hold. Schemes and protocols take turns. Commit policy, record granularity,
number of devices and the moment of the kill follow from the seed. These rounds do not prove that
nothing acknowledged is lost: the ledger does (scripts/crash_rounds.py).
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
import threading
import time

from experiment import schemes as listed_schemes

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COLUMNS = ["workload", "log", "cc", "commit", "log_records", "devices", "killed_after_ms",
           "recovered", "result", "seed"]
# Small scales load fast, and their transactions conflict often.
SCALES = {
    "ledger": [["--ledger_keys=1000"]],
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


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=20, help="of each workload")
    parser.add_argument("--seed", type=int, default=random.randrange(10**9))
    parser.add_argument("--workloads", default="", help="some of them, separated by commas")
    parser.add_argument("--logjam", default=os.path.join(ROOT, "build", "logjam"))
    parser.add_argument("--directory", help="where the logs go (default: a temporary one)")
    parser.add_argument("--csv", help="append a row a round to this file")
    return parser.parse_args()


def listed(logjam, what):
    lines = subprocess.run([logjam, "list", what], capture_output=True, text=True, check=True)
    return [line.split()[0] for line in lines.stdout.splitlines()[1:] if line.strip()]


def kill_when_loaded(command, seconds):
    """Runs the command and kills it `seconds` after it has reported its load. Returns the exit
    status if the command ended before that (else None), and its stderr."""
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = []
    loaded = threading.Event()

    def listen():
        for line in run.stderr:
            said.append(line)
            if "] loaded " in line:
                loaded.set()
        loaded.set()

    listener = threading.Thread(target=listen)
    listener.start()
    loaded.wait(60)
    time.sleep(seconds)
    ended = run.poll()
    run.send_signal(signal.SIGKILL)
    run.wait()
    listener.join()
    return ended, "".join(said)


def play(logjam, directory, workload, scheme, device, protocol, seed):
    """Plays one round. `device` is the device that the scheme needs, or "" if it needs none in
    particular. Returns the round's row, and the command lines with the programs' output."""
    draw = random.Random(seed)
    commit = draw.choice(["sync", "pipelined"])
    records = draw.choice(["txn", "op"])
    if scheme == "command":
        records = "txn"  # a command cannot be split into operations
    moment = draw.uniform(0.02, 0.8)
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
           "--log_prealloc_mb=16", "--log_buffer_mb=4", *draw.choice(SCALES[workload]),
           *([f"--device={device}"] if device else [])]
    recover = [logjam, "recover", f"--wal_dir={','.join(devices)}", "--threads=2", "--verify"]
    row = {"workload": workload, "log": scheme, "cc": protocol, "commit": commit,
           "log_records": records, "devices": len(devices),
           "killed_after_ms": round(moment * 1000), "recovered": "", "seed": seed}
    ended, said = kill_when_loaded(run, moment)
    if ended is not None:
        row["result"] = f"ended by itself ({ended})"
        return row, f"{' '.join(run)}\n{said}"
    recovered = subprocess.run(recover, capture_output=True, text=True, timeout=120)
    found = re.search(r"^recovered +(\d+) transactions", recovered.stdout, re.MULTILINE)
    row["recovered"] = int(found[1]) if found else ""
    row["result"] = "verified" if recovered.returncode == 0 else "FAILED"
    return row, f"{' '.join(run)}\n{' '.join(recover)}\n{recovered.stdout}{recovered.stderr}"


def main():
    given = arguments()
    schemes = list(listed_schemes(given.logjam).items())
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
        for number in range(given.rounds):
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
              f"{sum(r['recovered'] for r in good)} transactions recovered", flush=True)
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
