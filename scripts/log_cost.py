#!/usr/bin/python3
"""The cost of the log: YCSB without a log, and with `centr`, pipelined, on `null` and on `file`.

A transaction has ten operations on 1 M records of 4 B, or sixteen operations on 1 M rows of ten
columns; half of the operations are reads. The time breakdown shows where the cost arises.
"""

from experiment import Bench, common_arguments, median, ratio, table

FIELDS = ["--ycsb_read=field", "--ycsb_update=read-field"]
SHAPES = {
    "4 B x 10 ops": ["--ycsb_value_bytes=4", "--ycsb_ops=10"],
    "100 B x 16 ops": ["--ycsb_value_bytes=100", "--ycsb_ops=16", *FIELDS],
    "1000 B x 16 ops": ["--ycsb_value_bytes=1000", "--ycsb_ops=16", *FIELDS],
}
LOGS = {
    "none": ["--log=none"],
    "centr/null": ["--log=centr", "--device=null"],
    "centr/file": ["--log=centr", "--device=file", "--log_prealloc_mb=1024"],
}


def main():
    parser = common_arguments(__doc__, wal_dir="/tmp", rounds=5, seconds=3)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--cc", default="occ,2pl-nowait")
    args = parser.parse_args()
    activities = ["work", "lock_wait", "log_contention", "log_work", "flush_wait"]
    ways = {
        (shape, cc, int(threads), log): [
            "--workload=ycsb", "--ycsb_workload=rows-16", "--ycsb_records=1000000",
            *SHAPES[shape], *LOGS[log], f"--cc={cc}", "--commit=pipelined",
            f"--threads={threads}", f"--seconds={args.seconds}", "--warmup=0.5", "--noverify"]
        for shape in SHAPES
        for cc in args.cc.split(",")
        for threads in args.threads.split(",")
        for log in LOGS
    }
    with Bench(args.logjam, args.wal_dir) as bench:
        rows = bench.interleave(ways, args.rounds)
    table(
        ["shape", "cc", "threads", "log", "tps", "of none", "MB/s", "p99 us"]
        + [a + " %" for a in activities],
        [[*way, f"{median(r, 'tps'):.0f}", f"{ratio(r, rows[*way[:3], 'none']):.2f}",
          f"{median(r, 'log_mb_s'):.0f}", f"{median(r, 'commit_p99_us'):.0f}"]
         + [f"{median(r, f'time_{a}_pct'):.1f}" for a in activities]
         for way, r in rows.items()])


if __name__ == "__main__":
    main()
