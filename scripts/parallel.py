#!/usr/bin/python3
"""Experiments with several log streams on this machine: Poplar's Fig. 5, 7, 9 and 10, P-WAL's
Fig. 6 and 8, and Aether's Table 1.

Poplar's devices (21.5 us, 1.2 GB/s) become sim:21:100, so that two cores can saturate several of
them. Its buffers (30 MB, flushed every 5 ms or when half full) shrink with the bandwidth. Its epoch
is 50 ms.
"""

from experiment import (PAPERS, common_arguments, counter, median, ratio, run_experiments,
                        table)

DEVICE = "sim:21:100"
BUFFERS = ["--log_buffer_mb=2", "--epoch_ms=50", "--pipeline_depth=16384"]
GROUPS = ["--flush_bytes=1048576", "--flush_us=5000"]
WORKLOADS = {
    "ycsb write-only": ["--workload=ycsb", "--ycsb_workload=poplar-write-only",
                        "--ycsb_records=200000"],
    "NewOrder, Payment": ["--workload=tpcc", "--tpcc_warehouses=2", "--tpcc_mix=np",
                          "--verify=false"],
}
# NVM-D's workers force the log for every transaction, and P-WAL's workers for every 16.
LOGS = {
    "centr": ["--log=centr", *GROUPS],
    "nvmd": ["--log=nvmd", "--commit=sync"],
    "silo": ["--log=silo", *GROUPS],
    "poplar": ["--log=poplar", *GROUPS],
    "pwal": ["--log=pwal"],
}


def directories(bench, devices):
    return "--wal_dir=" + ",".join(f"{bench.wal_dir}/{i}" for i in range(devices))


def devices_of(log, devices):
    """The number of devices that a scheme uses; the centralized log uses one."""
    return 1 if log == "centr" else devices


def milliseconds(rows, *percentiles):
    return [f"{median(rows, f'commit_{p}_us') / 1000:.2f}" for p in percentiles]


def scaling(bench, args, common):
    """P5 is the result for two devices, and P9 that for all numbers of devices."""
    for workload, of_workload in WORKLOADS.items():
        ways = {}
        for devices in (1, 2, 3, 4):
            for log, of_log in LOGS.items():
                if devices > 1 and log == "centr":
                    continue
                ways[log, devices] = [*common, *of_workload, f"--device={DEVICE}", *BUFFERS,
                                      *of_log, f"--threads={args.threads}",
                                      directories(bench, devices)]
        rows = bench.interleave(ways, args.rounds)
        print(f"\nP5, P9: {workload}, {args.threads} threads, {DEVICE}, as fast as it goes")
        table(["log", "devices", "tps", "x centr", "x nvmd", "x 1 device", "log MB/s", "p50 ms",
               "p99 ms", "cpu %"],
              [[log, n, f"{median(r, 'tps'):.0f}", f"{ratio(r, rows['centr', 1]):.2f}",
                f"{ratio(r, rows['nvmd', n]):.1f}", f"{ratio(r, rows[log, 1]):.2f}",
                f"{median(r, 'log_mb_s'):.0f}", *milliseconds(r, "p50", "p99"),
                f"{median(r, 'cpu_pct'):.0f}"] for (log, n), r in rows.items()])


def commit_latency(bench, args, common):
    """Commit latency at offered loads below saturation, where queues are short."""
    for workload, of_workload in WORKLOADS.items():
        ways = {}
        for rate in (1000, 10000):
            for log, of_log in LOGS.items():
                ways[rate, log] = [*common, *of_workload, f"--device={DEVICE}", *BUFFERS, *of_log,
                                   f"--threads={args.threads}", f"--rate={rate}",
                                   directories(bench, devices_of(log, 2))]
        rows = bench.interleave(ways, args.rounds)
        print(f"\nP7: {workload}, {args.threads} threads, 2 devices, commit latency")
        table(["offered/s", "log", "tps", "p50 ms", "p99 ms", "p50 x poplar"],
              [[rate, log, f"{median(r, 'tps'):.0f}", *milliseconds(r, "p50", "p99"),
                f"{ratio(r, rows[rate, 'poplar'], 'commit_p50_us'):.2f}"]
               for (rate, log), r in rows.items()])


def scans(bench, args, common):
    """Transactions update a column and scan a number of rows, on emulated NVM."""
    flags = [*common, "--workload=ycsb", "--ycsb_workload=poplar-hybrid",
             "--ycsb_records=200000", "--device=nvm", "--log_buffer_mb=1", "--epoch_ms=50",
             f"--threads={args.threads}"]
    groups = ["--flush_bytes=104857", "--flush_us=5000"]
    ways = {}
    for length in (0, 10, 30, 100):
        for log in ("centr", "nvmd", "silo", "poplar"):
            ways[length, log] = [*flags, f"--ycsb_scan_length={length}", f"--log={log}",
                                 *([] if log == "nvmd" else groups),
                                 directories(bench, devices_of(log, 2))]
    rows = bench.interleave(ways, args.rounds)
    print(f"\nP10: hybrid, {args.threads} threads, nvm")
    table(["scan rows", "log", "tps", "x poplar", "p50 ms", "p99 ms", "p50 x poplar",
           "pipeline full %", "segments", "log work %", "work %", "cpu %"],
          [[length, log, f"{median(r, 'tps'):.0f}", f"{ratio(r, rows[length, 'poplar']):.2f}",
            *milliseconds(r, "p50", "p99"),
            f"{ratio(r, rows[length, 'poplar'], 'commit_p50_us'):.2f}",
            f"{median(r, 'pipeline_full_pct'):.0f}",
            f"{counter(r, 'segments'):.0f}" if log == "poplar" else "",
            f"{median(r, 'time_log_work_pct'):.0f}", f"{median(r, 'time_work_pct'):.0f}",
            f"{median(r, 'cpu_pct'):.0f}"] for (length, log), r in rows.items()])


# P-WAL's baseline flushes a group under the lock of the buffer (its Algorithm 1). `centr` flushes
# beside it: what the baseline would be with Aether's daemon. A worker that waits for its commit
# cannot fill a group of its own, so under sync pwal flushes at once.
PWAL_LOGS = {
    "centr-lockflush": ["--log=centr-lockflush", "--lockflush_ngroup=16"],
    "centr": ["--log=centr", "--flush_txns=16", "--flush_us=1000"],
    "pwal": ["--log=pwal"],
    "pwal, unsafe": ["--log=pwal", "--pwal_ack=unsafe"],
}
BASELINE = "centr-lockflush"


def pwal(bench, args, common):
    """P-WAL's micro-benchmark: 65,536 rows, one log record for each operation, and groups of 16
    commits. With rows of 232 B an operation's record has the paper's 512 B; the records that begin
    and end a transaction have 32 B here and 512 B there."""
    kinds = ("update-1", "update-5-read-5", "update-10")
    ways = {}
    for kind in kinds:
        for commit in ("pipelined", "sync"):
            for log, of_log in PWAL_LOGS.items():
                group = ["--pwal_ngroup=16"] if commit == "pipelined" else []
                ways[kind, commit, log] = [
                    *common, "--workload=micro-update", f"--micro_update_kind={kind}",
                    "--micro_update_row_bytes=232", "--log_records=op", "--cc=2pl-nowait",
                    f"--commit={commit}", "--threads=16", f"--device={args.device}", *of_log,
                    *group, directories(bench, 1)]
    rows = bench.interleave(ways, args.rounds)
    print(f"\nW6: 16 clients, {args.device}")
    table(["kind", "commit", "log", "tps", f"x {BASELINE}", "p50 ms", "p99 ms", "log MB/s",
           "flush KiB", "pipeline full %", "cpu %"],
          [[kind, commit, log, f"{median(r, 'tps'):.0f}",
            f"{ratio(r, rows[kind, commit, BASELINE]):.2f}", *milliseconds(r, "p50", "p99"),
            f"{median(r, 'log_mb_s'):.0f}", f"{median(r, 'flush_bytes_mean') / 1024:.0f}",
            f"{median(r, 'pipeline_full_pct'):.0f}" if commit == "pipelined" else "",
            f"{median(r, 'cpu_pct'):.0f}"] for (kind, commit, log), r in rows.items()])


def one_warehouse(bench, args, common):
    ways = {log: [*common, "--workload=tpcc", "--tpcc_mix=neworder", "--tpcc_warehouses=1",
                  "--tpcc_home=any", "--cc=2pl-waitdie", "--threads=16", "--verify=false",
                  f"--device={args.device}", *of_log, "--pwal_ngroup=16", directories(bench, 1)]
            for log, of_log in PWAL_LOGS.items()}
    rows = bench.interleave(ways, args.rounds)
    print(f"\nW8: NewOrder, 16 clients, {args.device}")
    table(["log", "tps", f"x {BASELINE}", "p50 ms", "p99 ms", "aborts %", "cpu %"],
          [[log, f"{median(r, 'tps'):.0f}", f"{ratio(r, rows[BASELINE]):.2f}",
            *milliseconds(r, "p50", "p99"), f"{median(r, 'abort_pct'):.1f}",
            f"{median(r, 'cpu_pct'):.0f}"] for log, r in rows.items()])


def sockets(bench, args, common):
    """The sockets are pretended: the result is the cost of synchronising two logs, not its
    benefit."""
    kinds = {"mix": [], "UpdateLocation": ["--tatp_only=UpdateLocation"],
             "GetSubscriberData": ["--tatp_only=GetSubscriberData"]}
    ways = {(kind, log): [*common, "--workload=tatp", *of_kind, f"--log={log}", "--sockets=2",
                          "--threads=2", "--device=null"]
            for kind, of_kind in kinds.items() for log in ("aether-cd", "dlog-s", "dlog-r")}
    rows = bench.interleave(ways, args.rounds)
    print("\nAT1: TATP, 2 threads, 2 pretended sockets, null")
    table(["transactions", "log", "tps", "x aether-cd", "log B/txn", "cpu %"],
          [[kind, log, f"{median(r, 'tps'):.0f}", f"{ratio(r, rows[kind, 'aether-cd']):.2f}",
            f"{median(r, 'log_bytes_txn'):.0f}", f"{median(r, 'cpu_pct'):.0f}"]
           for (kind, log), r in rows.items()])


EXPERIMENTS = {"p5": scaling, "p7": commit_latency, "p10": scans, "w6": pwal,
               "w8": one_warehouse, "at1": sockets}


def main():
    parser = common_arguments(__doc__)
    parser.add_argument("--device", default="file", help="of W6 and W8")
    parser.add_argument("--threads", type=int, default=4)
    run_experiments(parser, EXPERIMENTS, PAPERS)


if __name__ == "__main__":
    main()
