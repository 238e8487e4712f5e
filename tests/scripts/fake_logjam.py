#!/usr/bin/python3 -SE
"""Replaces build/logjam and build-sim/logjam in the tests of `make machine`: its rows follow from
its flags alone, at once. It has a few schemes, and refuses poplar with one thread. The texts that a
real machine gives have the name FAKE_NAME and paths. FAKE_PROFILE names the file of its profile.
"""

import csv
import json
import os
import sys

RATES = {"none": 400, "centr": 100, "poplar": 300, "scm": 50}
NAME = os.environ.get("FAKE_NAME", "nobody")
KERNEL = f"Linux 6.1-{NAME}"
DISK = {"file_system": "ext4", "mount_options": f"rw,upperdir=/home/{NAME}/up,noatime",
        "disk": "vda", "disk_model": f"{NAME}'s disk", "scheduler": "none",
        "write_cache": "write back", "fua": "true", "rotational": "false"}
PROFILE = f"""# Written by `logjam machine`, {KERNEL}.
name = "a CPU of {NAME}"
sockets = 1                   # measured
cores = 2                     # measured
contexts = 1                  # measured
"""


def profile():
    path = os.environ.get("FAKE_PROFILE")
    return PROFILE if path is None else open(path, encoding="utf-8").read()


def listed(what, flags):
    if what == "schemes":
        return [{"name": name, "device": "nvm" if name == "scm" else "any", "logs": name != "none",
                 "stream_count": {"base": 0, "per_directory": int(name == "poplar"),
                                  "per_group": 0, "group": 1, "per_socket": 0}} for name in RATES]
    if "topology" in flags:
        return [{"name": "compact", "contexts": list(range(256)), "workers":
                 "compact: workers 0-63,128-191 on socket 0 cores 0-127 (64 physical), "
                 "workers 64-127,192-255 on socket 1 cores 128-255 (64 physical)"}]
    return [{"name": "compact", "contexts": [0, 1],
             "workers": "compact: workers 0-1023 on socket 0 cores 0-1"}]


def row_of(command, flags):
    log, threads = flags.get("log", ""), int(flags["threads"])
    rate = RATES.get(log, 1000) * threads
    row = {"log": log, "device": flags.get("device", ""), "threads": threads,
           "tps" if command == "run" else "inserts_s" if log else "calls_s": rate,
           "commit_p50_us": 3, "flags": f"--wal_dir={flags.get('wal_dir')} --name={NAME}"}
    if "machine" in flags:  # a simulation
        row["machine"] = f"simulated {NAME}, 2 cores, 1 sockets, model 1, seed {flags['sim_seed']}"
    return {**row, "revision": "abc", "machine": f"a CPU of {NAME}, 2 cores, {KERNEL}",
            **{name: row[name] for name in ("machine",) if name in row}}


def main():
    command, *words = sys.argv[1:]
    flags = dict(word[2:].partition("=")[::2] for word in words if word.startswith("--"))
    if command == "list":
        print(json.dumps({words[0]: listed(words[0], flags)}))
    elif command == "machine":
        print("core,other,ns\n0,1,80.5" if "hand-offs" in words else profile(), end="\n")
    elif command == "device":
        print("sync,write_bytes,writes_at_once,one_call,writes_s,write_mb_s,write_p50_us,"
              "write_p99_us,write_p999_us," + ",".join(DISK))
        print("dsync,4096,1,false,9000,36,100,200,300,"
              + ",".join(f'"{text}"' for text in DISK.values()))
    elif flags.get("log") == "poplar" and flags["threads"] == "1":
        print(f"logjam: /home/{NAME}/wal has no room", file=sys.stderr)
        return 2
    else:
        row = row_of(command, flags)
        with open(flags["csv"], "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(row))
            writer.writeheader()
            writer.writerow(row)
    return 0


if __name__ == "__main__":
    sys.exit(main())
