#!/usr/bin/python3
"""Repeats ELEDA's experiments on this machine: Fig. 8 at one thread, Fig. 18, 20 and 21, and one
stream on two devices.

The workload is half reads and half overwrites of values of 1 KiB, one a transaction (ELEDA, section
6.2: YCSB's A with a payload of 1 KiB).
ELEDA is as published: config/eleda.flags, except for the I/O unit where that is what is varied. "Ours"
is the scheme with its default flags, where workers do the two threads' work when these are late.
"""

import pathlib

from experiment import PAPERS, common_arguments, median, ratio, run_experiments, table

KV = ["--workload=ycsb", "--ycsb_workload=eleda", "--ycsb_records=200000"]
ROW = ["--ycsb_value_bytes=1024"]
PUBLISHED = [f"--flagfile={pathlib.Path(__file__).resolve().parent.parent / 'config/eleda.flags'}"]
OURS = ["--log=eleda"]


def latency_columns(rows):
    return [f"{median(rows, f'commit_{p}_us'):.0f}" for p in ("p50", "p95", "p99", "p999")]


def pipeline_full(rows):
    return "" if rows[0]["commit"] != "pipelined" else f"{median(rows, 'pipeline_full_pct'):.0f}"


def latency_hiding(bench, args, common):
    flags = [*common, *KV, *ROW, f"--device={args.device}", "--threads=1"]
    ways = {"centr, sync": [*flags, "--log=centr", "--commit=sync"],
            "centr, pipelined": [*flags, "--log=centr", "--commit=pipelined"],
            "eleda": [*flags, *PUBLISHED],
            "eleda, 512 KiB": [*flags, *PUBLISHED, "--io_unit_bytes=524288"],
            "eleda, ours": [*flags, *OURS, "--commit=pipelined"]}
    rows = bench.interleave(ways, args.rounds)
    print(f"E8: one database thread on {args.device}")
    table(["log", "tps", "x centr, sync", "log MB/s", "p50 us", "p95", "p99", "p99.9",
           "pipeline full %", "cpu %"],
          [[name, f"{median(r, 'tps'):.0f}", f"{ratio(r, rows['centr, sync']):.1f}",
            f"{median(r, 'log_mb_s'):.0f}", *latency_columns(r), pipeline_full(r),
            f"{median(r, 'cpu_pct'):.0f}"]
           for name, r in rows.items()])


def io_units(bench, args, common):
    """A closed loop, and a lower offered load, at which the time to fill an I/O unit shows in the
    latency."""
    flags = [*common, *KV, *ROW, f"--device={args.device}", "--threads=2", *PUBLISHED]
    ways = {}
    for load, rate in (("closed loop", 0), ("100,000/s offered", 100000)):
        for unit in (64, 512):
            unit_flags = [*flags, f"--rate={rate}", f"--io_unit_bytes={unit << 10}"]
            ways[load, unit, "device is idle"] = unit_flags
            ways[load, unit, "unit is full"] = [
                *unit_flags, f"--flush_bytes={unit << 10}", "--flush_us=100000"]
    rows = bench.interleave(ways, args.rounds)
    print(f"\nE18: I/O unit, two database threads on {args.device}")
    table(["load", "I/O unit KiB", "flushed when", "tps", "log MB/s", "flush KiB", "p50 us", "p95",
           "p99", "p99.9", "pipeline full %"],
          [[*way, f"{median(r, 'tps'):.0f}", f"{median(r, 'log_mb_s'):.0f}",
            f"{median(r, 'flush_bytes_mean') / 1024:.0f}", *latency_columns(r), pipeline_full(r)]
           for way, r in rows.items()])


def crawling(bench, args, common):
    ways = {}
    for payload in (128, 1024, 4096):
        for threads in (1, 2, 4, 8):
            ways[payload, threads] = [
                *common, *PUBLISHED, "--device=null", "--flush_us=500",
                f"--record_bytes={payload}", f"--threads={threads}", "--logs_per_commit=1"]
    rows = bench.interleave(ways, args.rounds, "micro")
    print("\nE20: share of SBL advanced by crawling; a record and a commit a transaction, null device")
    table(["payload B", "threads", "crawled %", "hops", "crawls", "M records/s", "MB/s"],
          [[*way, f"{100 * median(r, 'sbl_crawl_share'):.0f}", f"{median(r, 'sbl_hops'):.0f}",
            f"{median(r, 'sbl_crawls'):.0f}", f"{median(r, 'inserts_s') / 1e6:.2f}",
            f"{median(r, 'mb_s'):.0f}"] for way, r in rows.items()])


def bitmap(bench, args, common):
    ways = {}
    for payload in (128, 1024, 4096):
        for log in ("eleda", "eleda-bitmap"):
            ways[payload, log] = [
                *common, *KV, *PUBLISHED, f"--ycsb_value_bytes={payload}", "--device=null",
                "--threads=2", f"--log={log}", "--flush_us=500"]
    rows = bench.interleave(ways, args.rounds)
    print("\nE21: grasshopper and bitmap scan, two database threads, null device")
    table(["payload B", "log", "tps", "log MB/s", "x bitmap"],
          [[*way, f"{median(r, 'tps'):.0f}", f"{median(r, 'log_mb_s'):.0f}",
            f"{ratio(r, rows[way[0], 'eleda-bitmap']):.2f}"] for way, r in rows.items()])


def striped(bench, args, common):
    """Every transaction overwrites one row of 4 KiB. Each device writes 200 MB/s."""
    flags = [*common, "--workload=ycsb", "--ycsb_workload=eleda", "--ycsb_read_ratio=0",
             "--ycsb_records=20000", "--ycsb_value_bytes=4096", "--threads=2",
             "--device=sim:20:200", "--pipeline_depth=1024"]
    one, two = bench.wal_dir + "/a", bench.wal_dir + "/b"
    ways = {}
    for log in ("centr", "eleda"):
        for unit in ((64, 512) if log == "eleda" else (512,)):
            for devices in (1, 2):
                ways[log, unit, devices] = [
                    *flags, *(PUBLISHED if log == "eleda" else ["--log=centr"]),
                    f"--io_unit_bytes={unit << 10}",
                    f"--wal_dir={one}" + (f",{two}" if devices == 2 else "")]
    rows = bench.interleave(ways, args.rounds)
    print("\nE14: records of 4 KiB on sim:20:200 devices, striped")
    table(["log", "I/O unit KiB", "devices", "log MB/s", "share %", "p50 us", "p95", "p99", "p99.9",
           "cpu %"],
          [[log, unit if log == "eleda" else "-", devices, f"{median(r, 'log_mb_s'):.0f}",
            f"{100 * median(r, 'log_mb_s') / (200 * devices):.0f}", *latency_columns(r),
            f"{median(r, 'cpu_pct'):.0f}"] for (log, unit, devices), r in rows.items()])


EXPERIMENTS = {"e8": latency_hiding, "e18": io_units, "e20": crawling, "e21": bitmap,
               "striped": striped}


def main():
    parser = common_arguments(__doc__)
    parser.add_argument("--device", default="file", help="of E8 and E18")
    run_experiments(parser, EXPERIMENTS, PAPERS)


if __name__ == "__main__":
    main()
