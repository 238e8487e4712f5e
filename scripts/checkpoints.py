#!/usr/bin/python3
"""Measures the costs and benefits of checkpoints: TPC-C at a given rate, with and without them.

Runs with and without checkpoints alternate. The script prints for each run the throughput, the
commit latency, the largest disk space of the log and its checkpoints, and the time of a recovery.
--disk writes the used disk space once per second, for a plot.
"""

import pathlib
import shutil
import statistics
import subprocess
import tempfile
import threading
import time

from experiments import files, store
from experiments.errors import Refused, number, parser, run_main, whole
from experiments.runner import drop_from_page_cache, logjam_of
from experiments.text_tables import print_lines


def arguments():
    made = parser(__doc__)
    made.add_argument("--seconds", type=number, default=60)
    made.add_argument("--rounds", type=whole, default=3)
    made.add_argument("--rate", type=whole, default=10000, help="transactions a second")
    made.add_argument("--log", default="poplar")
    made.add_argument("--checkpoint_s", type=number, default=30)
    made.add_argument("--wal_dir", default=tempfile.gettempdir())
    made.add_argument("--disk", help="write the use of the disk to this file")
    made.add_argument("--flags", default="", help="more flags of the run")
    return made.parse_args()


def used_mb(folder):
    total = 0
    for path in pathlib.Path(folder).rglob("*"):
        try:
            total += path.stat().st_blocks * 512
        except FileNotFoundError:
            pass
    return total / 1e6


class Watch:
    """Measures the used disk space every second until it is stopped."""

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
        raise Refused(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}")
    return files.read_rows(rows)[0]


def one_round(given, folder, checkpoints):
    """Returns the run's row, the recovery's row, and the samples of the used disk space."""
    wal = folder / "wal"
    shutil.rmtree(wal, ignore_errors=True)
    wal.mkdir()
    logjam = logjam_of(None)
    command = [logjam, "run", "--workload=tpcc", "--tpcc_warehouses=4",
               f"--log={given.log}", f"--rate={given.rate}", f"--seconds={given.seconds}",
               "--verify=false", f"--wal_dir={wal}", *given.flags.split()]
    if checkpoints:
        command += [f"--checkpoint=s:{given.checkpoint_s},mb_s:200"]
    watch = Watch(wal)
    run = row_of(command, folder)
    watch.end()
    drop_from_page_cache([wal])
    recovery = row_of([logjam, "recover", f"--wal_dir={wal}", "--verify=false"], folder)
    return run, recovery, watch.samples


def main():
    given = arguments()
    if given.disk:
        files.is_there(given.disk)  # refuses a link and other kinds of files before the first run
    found = {True: [], False: []}
    samples = []
    with tempfile.TemporaryDirectory(dir=given.wal_dir) as folder:
        for turn in range(given.rounds):
            for checkpoints in (True, False):
                run, recovery, disk = one_round(given, pathlib.Path(folder), checkpoints)
                restart = float(recovery["load_seconds"]) + float(recovery["replay_seconds"])
                found[checkpoints].append(
                    (*(float(run[name] or "nan")  # empty: no transaction was acknowledged
                       for name in ("tps", "commit_p50_us", "commit_p99_us")),
                     max(mb for _, mb in disk), restart, float(recovery["bytes"]) / 1e6))
                samples += [{"round": turn, "checkpoints": int(checkpoints), "seconds": f"{at:.1f}",
                             "disk_mb": f"{mb:.0f}"} for at, mb in disk]
                print(f"round {turn + 1}, {'with' if checkpoints else 'without'} checkpoints: "
                      f"{found[checkpoints][-1]}", flush=True)
    print_lines(["medians", "tps", "p50 us", "p99 us", "disk MB", "restart s", "replayed MB"],
                [["with" if checkpoints else "without", *map(statistics.median, zip(*rows))]
                 for checkpoints, rows in found.items()])
    if given.disk:
        store.write_rows(given.disk, samples)


if __name__ == "__main__":
    run_main(main)
