#!/usr/bin/python3
"""The speed-ups of pipelined commits and of early lock release on a slow device (Aether, sections 3
and 4).

With one client on a device of 1 ms, pipelined commits are compared with sync commits. With sixteen
clients on TPC-C's NewOrder and Payment (one warehouse) and the same device, early lock release is
compared with its absence, for each protocol and commit policy. Without it, write locks are kept
until the commit is durable. Of the protocols only 2pl-detect lets every transaction wait for a
lock, as the systems in the papers do; the others abort, always or when the holder is older.
"""

from experiment import PAPERS, Bench, common_arguments, median, ratio, table


def main():
    parser = common_arguments(__doc__, wal_dir="/dev/shm", rounds=5, seconds=3)
    args = parser.parse_args()
    common = ["--log=centr", "--device=sim:1000", f"--seconds={args.seconds}", "--warmup=0.5"]

    ways = {}
    for commit in ("sync", "pipelined"):
        ways["1 client", "ycsb", "occ", commit, "true"] = [
            *common, "--workload=ycsb", "--ycsb_workload=rows-16", "--ycsb_records=100000",
            "--ycsb_value_bytes=100", "--threads=1", f"--commit={commit}"]
    for cc in ("occ", "2pl-nowait", "2pl-waitdie", "2pl-detect"):
        for commit in ("sync", "pipelined"):
            for elr in ("true", "false"):
                ways["16 clients", "tpcc", cc, commit, elr] = [
                    *common, "--workload=tpcc", "--tpcc_warehouses=1", "--tpcc_mix=np",
                    "--threads=16", f"--cc={cc}", f"--commit={commit}", f"--elr={elr}"]

    with Bench(args.logjam, args.wal_dir, PAPERS) as bench:
        rows = bench.interleave(ways, args.rounds)
    table(
        ["clients", "workload", "cc", "commit", "elr", "tps", "abort %", "commit p50 us", "p99 us",
         "cpu us/txn", "switches/txn"],
        [[*way, f"{median(r, 'tps'):.0f}", f"{median(r, 'abort_pct'):.1f}",
          f"{median(r, 'commit_p50_us'):.0f}", f"{median(r, 'commit_p99_us'):.0f}",
          f"{median(r, 'cpu_us_txn'):.1f}",
          f"{median(r, 'vol_switches_txn') + median(r, 'invol_switches_txn'):.3f}"]
         for way, r in rows.items()])
    print()
    for way, r in rows.items():
        if way[3] == "pipelined" and way[0] == "1 client":
            base = rows[*way[:3], "sync", way[4]]
            print(f"1 client: pipelined / sync = {ratio(r, base):.2f}")
        if way[4] == "true" and way[0] == "16 clients":
            base = rows[*way[:4], "false"]
            print(f"16 clients, {way[2]}, {way[3]}: elr on / off = {ratio(r, base):.2f}")


if __name__ == "__main__":
    main()
