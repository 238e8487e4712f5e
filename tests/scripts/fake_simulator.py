#!/usr/bin/python3
"""Replaces build-sim/logjam in tests: its rows follow from its flags alone, as logjam's rows do.

FAKE_LOG names a file that gets a line for each run. A run with --log=slow takes so long that a test
can stop it, a run with --log=refused is refused, and --log=native makes a native row.
"""

import csv
import json
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
from experiments import tomllib  # noqa: E402 (found in scripts/)

RATES = {"centr": 100.0, "poplar": 150.0}


def main():
    command, *words = sys.argv[1:]
    if command == "list":
        print(json.dumps({"schemes": [{"name": name, "device": "any", "logs": True}
                                      for name in RATES]}))
        return 0
    flags = dict(word[2:].split("=", 1) for word in words)
    with open(os.environ["FAKE_LOG"], "a", encoding="utf-8") as log:
        log.write(f"begin {' '.join(words)}\n")
    if "wal_dir" in flags:
        folder = pathlib.Path(flags["wal_dir"])
        folder.mkdir(parents=True, exist_ok=True)
        with open(os.environ["FAKE_LOG"], "a", encoding="utf-8") as log:
            log.write(f"found {len(list(folder.iterdir()))}\n")
        (folder / "log.db").write_text("a log", encoding="utf-8")
    if flags["log"] == "refused":
        print("logjam: no such log", file=sys.stderr)
        return 2
    if flags["log"] == "slow":
        time.sleep(60)
    profile = tomllib.loads(pathlib.Path(flags["machine"]).read_text(encoding="utf-8"))
    profile.update((pair.split("=")[0], float(pair.split("=")[1]))
                   for pair in flags.get("set", "").split(",") if pair)
    seed, threads = int(flags["sim_seed"]), int(flags["threads"])
        # More threads make poplar faster, unless a dirty line is expensive. They never help centr.
    gain = threads ** 0.5 if flags["log"] == "poplar" and profile["dirty_cycles"] < 150 else 1
    cores = profile["sockets"] * profile["cores"] * profile["contexts"]
    name = pathlib.Path(flags["machine"]).stem
    rate = f"{RATES.get(flags['log'], 1) * gain + 0.01 * seed:.2f}"
    row = {"log": flags["log"], "threads": threads, "seconds": flags["seconds"], "tps": rate,
           "inserts_s": rate, "mb_s": rate, "revision": "abc",
           "machine": "a CPU, 2 cores" if flags["log"] == "native" else
                      f"simulated {name}, {cores} cores, {profile['sockets']} sockets, model 1, "
                      f"seed {seed}"}
    with open(flags["csv"], "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(row))
        writer.writeheader()
        writer.writerow(row)
    with open(os.environ["FAKE_LOG"], "a", encoding="utf-8") as log:
        log.write("end\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
