"""Plans the runs of `make machine`: which points, and which of them first.

A point has the axes load, threads, and either `log` and `device` or, without a log, `way` (an atomic
operation or a lock). The main points come first: some schemes of each kind without a disk, with one
thread, then with all threads, then with numbers between. The same points without a disk are also
simulated.
"""

import dataclasses
import itertools
import json
import re
import subprocess

from experiments.definition import Experiment
from experiments.errors import Refused

MOST_THREADS = 1024  # of logjam
MAIN_LOGS = ("none", "centr", "centr-faa", "eleda", "aether-cd", "poplar", "silo", "tide")
MAIN_WAYS = ("faa", "cas-faa", "tas", "mcs")
# The flags of `scaling`, so that its simulated curves have the same points.
LOADS = {"TPC-C": {"workload": "tpcc", "tpcc_mix": "np", "tpcc_home": "fixed",
                   "tpcc_customers": 100, "tpcc_items": 3000},
         "YCSB-A": {"workload": "ycsb", "ycsb_workload": "A", "ycsb_records": 100000}}
INSERT = {"log insert": {"record_bytes": 120}}
WAYS = {"one word": ("faa", "cas", "cas-faa", "swap", "load"),
        "one lock": ("tas", "ticket", "ticket-backoff", "mcs", "clh")}
OF_RUNS = {"verify": False, "breakdown": False}
SMALL = {"log_prealloc_mb": 16, "log_buffer_mb": 16}  # of hundreds of logs
# One write at a time without a gap: the device costs nothing, so a pause of the log would. An epoch
# of Silo must be much shorter than a simulated window.
NO_DISK = {"io_depth": 1, "flush_gap_us": 0}
NO_DISK_SILO = {"silo_epoch_ms": 0.5}


@dataclasses.dataclass
class Shape:
    """The sockets, the cores and the hardware contexts that logjam may use."""

    sockets: int
    cores: int
    contexts: int

    def threads(self):
        """Returns 1, 2, 4, ... and the numbers of a socket's cores, all cores and all contexts."""
        powers = itertools.takewhile(lambda one: one <= self.contexts,
                                     (2 ** power for power in itertools.count()))
        return sorted({*powers, max(1, self.cores // self.sockets), self.cores, self.contexts})


def shape_of(logjam, topology=""):
    """Returns the Shape of this machine, or of a topology in the form of --topology."""
    done = subprocess.run([logjam, "list", "placement", f"--threads={MOST_THREADS}", "--json=-",
                           *([f"--topology={topology}"] if topology else [])],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise Refused(done.stderr.strip().removeprefix("logjam: "))
    compact = json.loads(done.stdout)["placement"][0]
    contexts = len(set(compact["contexts"]))
    physical = [int(cores) for cores in re.findall(r"\((\d+) physical\)", compact["workers"])]
    return Shape(len(re.findall(r"\bsocket \d+", compact["workers"])), sum(physical) or contexts,
                 contexts)


def _directories(place, number):
    return ",".join(f"{place}/{one}" for one in range(number))


def _grids(shape, schemes):
    """Yields the grids. `schemes` are the rows of `logjam list schemes --json`."""
    threads = {str(one): {"threads": one, "tpcc_warehouses": one} for one in shape.threads()}
    for load, ways in WAYS.items():
        yield {"command": "micro", "axes": {
            "load": {load: {}}, "threads": shape.threads(),
            "way": {way: {"primitive": way} for way in ways}}}
    on = {}  # (device, directories, whether there is a log for each worker) -> schemes
    for scheme in schemes:
        streams = scheme["stream_count"]
        each_worker = bool(streams["per_group"])
        # A log for each worker beside one of watermarks was made for NVM, and some need it.
        nvm = scheme["device"] == "nvm" or each_worker and streams["base"]
        parts = shape.sockets if streams["per_directory"] else 1
        on.setdefault(("nvm" if nvm else "null", parts, each_worker), []).append(scheme["name"])
        if scheme["logs"] and scheme["device"] != "nvm":
            on.setdefault(("disk", 1, each_worker), []).append(scheme["name"])
    for (device, parts, each_worker), logs in on.items():
        on_disk = device == "disk"
        flags = {"worker_class": "normal", **(SMALL if each_worker else {}),
                 **({"device": "file"} if on_disk else {"device": device, **NO_DISK}),
                 "wal_dir": _directories("{dir}" if on_disk else "{memory}", parts)}
        named = {log: {"log": log, **(NO_DISK_SILO if log == "silo" and not on_disk else {})}
                 for log in logs}
        inserted = {log: flags for log, flags in named.items() if log not in ("none", "command")}
        for command, loads, of_command, of_logs, of_threads in (
                ("micro", INSERT, {}, inserted, shape.threads()),
                ("run", LOADS, OF_RUNS, named, threads)):
            yield {"command": command, "flags": {**flags, **of_command},
                   "axes": {"load": loads, "device": {device: {}}, "threads": of_threads,
                            "log": of_logs}}


def experiment(shape, schemes):
    """Returns the Experiment of all points. A machine is simulated without its disk."""
    grids = list(_grids(shape, schemes))
    return Experiment({
        "id": "machine", "title": "Logs, locks and atomic operations",
        "claim": "The same points on each machine, measured and simulated.", "grid": grids,
        "full": {"rounds": 3, "seconds": 0.3, "warmup": 0.1},
        "simulated": {"machine": "measured here", "seconds": 0.003, "warmup": 0.0015, "grid": [
            grid for grid in grids if "disk" not in grid["axes"].get("device", ())]},
        **PRESENTED}, "make machine")


PRESENTED = {"table": {"columns": ["per_s", "commit_p50_us", "abort_pct"]},
             "plot": {"kind": "lines", "x": "threads", "y": "per_s", "series": ["log", "way"],
                      "panels": ["load", "device"], "x_scale": "log2", "y_scale": "log",
                      "x_label": "threads", "y_label": "operations or transactions/s"}}


def is_main(axes):
    return axes.get("log") in MAIN_LOGS or axes.get("way") in MAIN_WAYS


def spread(values):
    """Returns sorted values in another order: the ends, the middle, the middles of the halves."""
    found, parts = [values[0], values[-1]], [(0, len(values) - 1)]
    while parts:
        low, high = parts.pop(0)
        middle = (low + high) // 2
        if middle > low:
            found.append(values[middle])
            parts += [(low, middle), (middle, high)]
    return list(dict.fromkeys(found))


def in_order(points, shape):
    """Returns the points, the most important ones first."""
    places = {str(threads): place for place, threads in enumerate(spread(shape.threads()))}
    return sorted(points, key=lambda point: (
        not is_main(point.axes), point.axes.get("device") == "disk",
        places[point.axes["threads"]], point.index))
