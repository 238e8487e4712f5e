#!/usr/bin/python3
"""Recovery of the same YCSB run, logged by several schemes: Poplar's Table 2 and Fig. 11.

Logs are read from one and from two devices, limited to --mb_s each, and without a limit. The last
case is compared with dd, which reads the same bytes. Files are dropped from the page cache before
each reading.
"""

import argparse
import os
import re
import statistics
import subprocess
import time

from experiment import PAPERS, Bench, table

LOGS = ("centr", "silo", "poplar", "pwal")
RECORD_BYTES = 1048  # of a write-only transaction


def run(line):
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(line)}\nexited {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def files_in(directories):
    return [os.path.join(d, name) for d in directories for name in sorted(os.listdir(d))]


def drop_cache(files):
    for path in files:
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def write(args, log, directories):
    for directory in directories:
        os.makedirs(directory, exist_ok=True)
        for path in files_in([directory]):
            os.remove(path)
    run([args.logjam, "run", f"--log={log}", "--workload=ycsb", "--ycsb_workload=poplar-write-only",
         f"--ycsb_records={args.records}", "--threads=2", "--device=sim:0", "--seconds=600",
         "--warmup=0", f"--transactions={int(args.gb * 1e9 / RECORD_BYTES / 2)}", "--verify=false",
         "--wal_dir=" + ",".join(directories)])


def recover(args, directories, mb_s, replay="parallel"):
    drop_cache(files_in(directories))
    out = run([args.logjam, "recover", "--wal_dir=" + ",".join(directories), "--verify=false",
               f"--read_mb_s={mb_s}", f"--replay={replay}"])
    return {"seconds": float(re.search(r"^replay_seconds +(\S+)", out, re.M)[1]),
            "bytes": [int(n) for n in re.findall(r"^stream .* (\d+) bytes,", out, re.M)],
            "transactions": int(re.search(r"^recovered +(\d+) transactions", out, re.M)[1])}


def dd(directories, gb):
    """The seconds that dd takes to read `gb` GB of the log, from the beginning of all files at
    once."""
    files = files_in(directories)
    drop_cache(files)
    start = time.monotonic()
    each = int(gb * 1e9 / len(files))
    running = [subprocess.Popen(["dd", f"if={path}", "of=/dev/null", "bs=4M", f"count={each}",
                                 "iflag=count_bytes"], stderr=subprocess.DEVNULL)
               for path in files]
    for one in running:
        one.wait()
    return time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logjam", default="build/logjam")
    parser.add_argument("--wal_dir", default=".")
    parser.add_argument("--gb", type=float, default=2, help="of log")
    parser.add_argument("--records", type=int, default=200000)
    parser.add_argument("--mb_s", type=float, default=200, help="of a device that is held back")
    parser.add_argument("--rounds", type=int, default=3, help="of what is not held back")
    args = parser.parse_args()
    lines, centr = [], None
    with Bench(args.logjam, args.wal_dir, PAPERS) as bench:
        for devices in (1, 2):
            directories = [f"{bench.wal_dir}/{i}" for i in range(devices)]
            for log in LOGS:
                write(args, log, directories)
                held = recover(args, directories, args.mb_s)
                free = [recover(args, directories, 0) for _ in range(args.rounds)]
                merged = recover(args, directories, 0, "merge") if log == "pwal" else None
                gb = sum(held["bytes"]) * 1e-9
                disk = statistics.median(dd(directories, gb) for _ in range(args.rounds))
                seconds = statistics.median(one["seconds"] for one in free)
                centr = centr or held["seconds"]
                lines.append([log, devices, held["transactions"], f"{gb:.2f}",
                              f"{held['seconds']:.2f}", f"{gb / held['seconds']:.3f}",
                              f"{centr / held['seconds']:.2f}", f"{seconds:.2f}",
                              f"{gb / seconds:.3f}", f"{gb / disk:.3f}", f"{disk / seconds:.2f}",
                              f"{merged['seconds']:.2f}" if merged else "-"])
    print(f"PT2, P11: devices of {args.mb_s:.0f} MB/s, and without that limit")
    table(["log", "devices", "transactions", "GB", "s", "GB/s", "x centr", "no limit: s", "GB/s",
           "dd GB/s", "x dd", "merge s"], lines)


if __name__ == "__main__":
    main()
