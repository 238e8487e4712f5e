#!/usr/bin/python3
"""Log insert without an engine: every scheme x record sizes x threads (Aether, Fig. 9 and 10).

Device `null` writes nothing, so the experiment measures the log buffer and its flushers.
--device=discard leaves the flushers out, as the paper's test does, and the schemes that depend on them.
Two lower bounds are shown beside the schemes: a plain copy of the same bytes, and a fetch-and-add with a
copy.
"""

import re
import subprocess

from experiment import PAPERS, Bench, common_arguments, median, ratio, schemes, table

SIZES = {"48 B": ["--record_bytes=48"], "120 B mix": ["--record_bytes=dist:"],
         "1 KiB": ["--record_bytes=1024"], "12 KiB": ["--record_bytes=12288"],
         "48 B, 1 in 60 64 KiB": ["--record_bytes=48", "--outlier_bytes=65536"]}


def main():
    parser = common_arguments(__doc__, seconds=0.3)
    parser.add_argument("--threads", default="1,2,8")
    parser.add_argument("--device", default="null", choices=["null", "discard"])
    parser.add_argument("--local", action="store_true", help="fill L1-resident memory instead")
    args = parser.parse_args()
    common = [f"--seconds={args.seconds}", "--warmup=0.1", *(["--local"] if args.local else [])]
    names = schemes(args.logjam)
    if args.device == "discard":
        listed = subprocess.run([args.logjam, "list", "schemes"], capture_output=True, text=True,
                                check=True).stdout
        names = {name: device for name, device in names.items()
                 if re.search(rf"^{name} +any +1 {{2,}}", listed, re.MULTILINE)}

    with Bench(args.logjam, args.wal_dir, PAPERS) as bench:
        for threads in args.threads.split(","):
            for size, size_flags in SIZES.items():
                flags = [*common, *size_flags, f"--threads={threads}"]
                ways = {"floor: copy": [*flags, "--floor=copy"],
                        "floor: fetch-add": [*flags, "--floor=fetch-add"]}
                for name, device in names.items():
                    ways[name] = [*flags, f"--log={name}", f"--device={device or args.device}"]
                rows = bench.interleave(ways, args.rounds, "micro")
                print(f"\n{size}, {threads} thread(s)")
                table(
                    ["log", "ns/insert", "x floor", "M inserts/s", "MB/s", "group", "groups/insert",
                     "consolidated %", "delegated %", "crawled %", "cpu %"],
                    [[name, f"{median(r, 'ns_insert'):.1f}",
                      f"{ratio(r, rows['floor: fetch-add'], 'ns_insert'):.2f}",
                      f"{median(r, 'inserts_s') / 1e6:.2f}", f"{median(r, 'mb_s'):.0f}",
                      f"{median(r, 'mean_group_size'):.2f}",
                      f"{median(r, 'groups_per_insert'):.3f}" if r[0]["groups_per_insert"] else "",
                      f"{median(r, 'consolidated_pct'):.1f}",
                      f"{100 * median(r, 'delegated_releases') / max(1, median(r, 'inserts')):.1f}",
                      f"{100 * median(r, 'sbl_crawl_share'):.0f}", f"{median(r, 'cpu_pct'):.0f}"]
                     for name, r in rows.items()])


if __name__ == "__main__":
    main()
