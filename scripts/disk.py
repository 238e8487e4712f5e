#!/usr/bin/python3
"""Compares logjam's rates on this machine's disk with the rates of other programs.

Compares the log's MB/s with fio's (synced overwrites of the same size and depth), and the MB/s of a
recovery with the MB/s at which dd reads the same files. The script drops the files from the page
cache before each reading. All rates are measured in the same minutes.
"""

import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

from experiments.definition import Point
from experiments.errors import number, parser, run_main, whole
from experiments.runner import Runner, drop_from_page_cache, logjam_of
from experiments.text_tables import print_lines


def fio_mb_s(folder, kib, depth, seconds):
    """Returns the MB/s at which fio overwrites 1 GiB by synced writes, like the log."""
    done = subprocess.run(
        ["fio", "--name=log", f"--filename={folder}/fio", "--size=1G", "--direct=1", "--sync=dsync",
         "--ioengine=io_uring", "--rw=write", f"--bs={kib}k", f"--iodepth={depth}", "--time_based",
         f"--runtime={seconds}", "--output-format=json"],
        stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)["jobs"][0]["write"]["bw_bytes"] / 1e6


def written(runner, folder, kib, depth, seconds):
    flags = {"log": "eleda", "device": "file", "io_bytes": kib << 10, "io_depth": depth,
             "threads": 1, "record_bytes": 4096, "flush_gap_us": 0, "log_prealloc_mb": 4096,
             "seconds": seconds}
    return (float(runner.run(Point(0, {}, "micro", flags)).row["mb_s"]),
            fio_mb_s(folder, kib, depth, seconds))


def dd_mb_s(folder, read_bytes):
    files = [path for path in pathlib.Path(folder).rglob("stream-*") if path.stat().st_size]
    drop_from_page_cache([folder])
    begun = time.monotonic()
    running = [subprocess.Popen(["dd", f"if={path}", "of=/dev/null", "bs=4M",
                                 f"count={read_bytes // len(files)}", "iflag=count_bytes"],
                                stderr=subprocess.DEVNULL) for path in files]
    for one in running:
        one.wait()
    return read_bytes / (time.monotonic() - begun) / 1e6


def recovered(runner, folder, log, transactions):
    """Returns the MB/s at which logjam recovers a log of 1 kB writes, and dd reads its files."""
    write = {"workload": "ycsb", "ycsb_workload": "poplar-write-only", "ycsb_records": 200000,
             "log": log, "device": "sim:0", "threads": 2, "transactions": transactions // 2,
             "seconds": 600, "warmup": 0, "verify": False, "wal_dir": "{dir}/0,{dir}/1"}
    row = runner.run(Point(0, {}, "recover", {"verify": False}, write)).row
    return 1000 * float(row["replay_gb_s"]), dd_mb_s(folder, int(row["bytes"]))


def main():
    options = parser(__doc__)
    options.add_argument("--logjam")
    options.add_argument("--wal_dir", default="build/wal", help="a directory of the disk")
    options.add_argument("--rounds", type=whole, default=5)
    options.add_argument("--seconds", type=number, default=2)
    options.add_argument("--transactions", type=whole, default=2_000_000, help="in a recovered log")
    args = options.parse_args()
    os.makedirs(args.wal_dir, exist_ok=True)
    ways = {f"write {kib} KiB, depth {depth}": (written, kib, depth, args.seconds)
            for kib, depth in ((64, 1), (64, 4), (512, 1), (512, 4))}
    ways |= {f"recover {log}": (recovered, log, args.transactions)
             for log in ("centr", "silo", "poplar", "pwal")}
    pairs = {name: [] for name in ways}
    with tempfile.TemporaryDirectory(dir=args.wal_dir) as folder, \
            Runner(logjam_of(args.logjam), folder) as runner:
        for _ in range(args.rounds):
            for name, (measure, *how) in ways.items():
                pairs[name].append(measure(runner, folder, *how))
    median = statistics.median
    print_lines(["", "logjam MB/s", "fio, dd MB/s", "ratio"],
                [[name, round(median(a for a, _ in of)), round(median(b for _, b in of)),
                  round(median(a / b for a, b in of), 2)] for name, of in pairs.items()])


if __name__ == "__main__":
    run_main(main)
