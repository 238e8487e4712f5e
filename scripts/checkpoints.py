#!/usr/bin/python3
"""What checkpoints cost, and what they are good for: TPC-C at a rate, with checkpoints and without.

Runs alternate. Of each: throughput, commit latency, how much of the disk the log and its
checkpoints used at most, and how long a recovery took afterwards. --disk writes how the use of the
disk went, a row a second, for a plot.
"""

import argparse
import csv
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from experiments import files
from experiments.errors import number, run_main, whole
from experiments.runner import drop_from_page_cache, logjam_of


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=number, default=60)
    parser.add_argument("--rounds", type=whole, default=3)
    parser.add_argument("--rate", type=whole, default=10000, help="transactions a second")
    parser.add_argument("--warehouses", type=whole, default=4)
    parser.add_argument("--log", default="poplar")
    parser.add_argument("--checkpoint_s", type=number, default=30)
    parser.add_argument("--checkpoint_mb_s", type=number, default=200)
    parser.add_argument("--wal_dir", default=tempfile.gettempdir())
    parser.add_argument("--disk", help="write the use of the disk to this file")
    parser.add_argument("--flags", default="", help="more flags of the run")
    return parser.parse_args()


def used_mb(folder):
    """Returns the blocks of all files under `folder`; files may go meanwhile."""
    total = 0
    for path in pathlib.Path(folder).rglob("*"):
        try:
            total += path.stat().st_blocks * 512
        except FileNotFoundError:
            pass
    return total / 1e6


class Watch:
    """Looks at the disk every second while it lives."""

    def __init__(self, folder):
        self.samples, self._folder = [], folder
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._begun = time.monotonic()
        self._thread.start()

    def _watch(self):
        while not self._end.wait(1):
            self.samples.append((time.monotonic() - self._begun, used_mb(self._folder)))

    def end(self):
        self._end.set()
        self._thread.join()


def row_of(command, folder):
    rows = folder / "row.csv"
    rows.unlink(missing_ok=True)
    done = subprocess.run([*command, f"--csv={rows}"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}")
    with open(rows, encoding="utf-8") as file:
        return next(csv.DictReader(file))


def one_round(given, folder, checkpoints):
    """Returns the run's row, the recovery's, and the samples of the disk."""
    wal = folder / "wal"
    shutil.rmtree(wal, ignore_errors=True)
    wal.mkdir()
    logjam = logjam_of(None)
    command = [logjam, "run", "--workload=tpcc", f"--tpcc_warehouses={given.warehouses}",
               f"--log={given.log}", f"--rate={given.rate}", f"--seconds={given.seconds}",
               "--verify=false", f"--wal_dir={wal}", *given.flags.split()]
    if checkpoints:
        command += [f"--checkpoint=s:{given.checkpoint_s},mb_s:{given.checkpoint_mb_s}"]
    watch = Watch(wal)
    run = row_of(command, folder)
    watch.end()
    drop_from_page_cache([wal])
    recovery = row_of([logjam, "recover", f"--wal_dir={wal}", "--verify=false"], folder)
    return run, recovery, watch.samples


def main():
    given = arguments()
    if given.disk:
        files.is_there(given.disk)  # refuses a link and the like before anything runs
    found = {True: [], False: []}
    samples = []
    with tempfile.TemporaryDirectory(dir=given.wal_dir) as folder:
        for number in range(given.rounds):
            for checkpoints in (True, False):
                run, recovery, disk = one_round(given, pathlib.Path(folder), checkpoints)
                restart = float(recovery["load_seconds"]) + float(recovery["replay_seconds"])
                found[checkpoints].append(
                    (*(float(run[name] or "nan")  # empty: nothing was acknowledged
                       for name in ("tps", "commit_p50_us", "commit_p99_us")),
                     max(mb for _, mb in disk), restart, float(recovery["bytes"]) / 1e6))
                samples += [(number, checkpoints, *one) for one in disk]
                print(f"round {number + 1}, {'with' if checkpoints else 'without'} checkpoints: "
                      f"{found[checkpoints][-1]}", flush=True)
    print("medians                tps   p50 us    p99 us   disk MB  restart s  replayed MB")
    for checkpoints, rows in found.items():
        middle = [statistics.median(column) for column in zip(*rows)]
        print(f"{'with' if checkpoints else 'without':12} " +
              " ".join(f"{value:10.2f}" for value in middle))
    if given.disk:
        lines = [("round", "checkpoints", "seconds", "disk_mb"),
                 *((number, int(with_them), f"{seconds:.1f}", f"{mb:.0f}")
                   for number, with_them, seconds, mb in samples)]
        files.write(given.disk, "".join(f"{','.join(map(str, line))}\n" for line in lines))


if __name__ == "__main__":
    run_main(main)
