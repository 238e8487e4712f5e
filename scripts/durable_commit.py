#!/usr/bin/python3
"""Durable commits per second on this machine's disk. A transaction updates one of 200,000 rows of
100 B.

Measures group commit with 1, 2 and 16 synchronous clients. Then measures two busy workers on two
cores with pipelined commits, which shows how late acknowledgements come.
"""

from experiment import Bench, common_arguments, median, table


def main():
    parser = common_arguments(__doc__, wal_dir="/tmp", rounds=5, seconds=3)
    parser.add_argument("--devices", default="file,sync")
    args = parser.parse_args()
    common = [
        "--workload=ycsb", "--ycsb_workload=poplar-write-only", "--ycsb_records=200000",
        "--ycsb_value_bytes=100", "--log=centr", f"--seconds={args.seconds}", "--warmup=0.5"]
    ways = {}
    for device in args.devices.split(","):
        for clients in (1, 2, 16):
            ways[device, "sync", clients] = [
                *common, f"--device={device}", "--commit=sync", f"--threads={clients}"]
        ways[device, "pipelined", 2] = [
            *common, f"--device={device}", "--commit=pipelined", "--threads=2"]

    with Bench(args.logjam, args.wal_dir) as bench:
        rows = bench.interleave(ways, args.rounds)
    table(
        ["device", "commit", "clients", "commits/s", "p50 us", "p99 us", "p99/p50", "commits/flush",
         "log MB/s", "cpu %", "flush late us"],
        [[*way, f"{median(r, 'tps'):.0f}", f"{median(r, 'commit_p50_us'):.0f}",
          f"{median(r, 'commit_p99_us'):.0f}",
          f"{median(r, 'commit_p99_us') / median(r, 'commit_p50_us'):.2f}",
          f"{median(r, 'transactions') / max(1, median(r, 'flushes')):.1f}",
          f"{median(r, 'log_mb_s'):.1f}", f"{median(r, 'cpu_pct'):.0f}",
          f"{median(r, 'flush_late_us_mean'):.0f}"]
         for way, r in rows.items()])


if __name__ == "__main__":
    main()
