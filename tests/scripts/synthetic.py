"""Provides experiments and rows that were never run, for the tests of figures and reports.

A test can compute the rates: the scheme's number in RATES, times the number of threads, times
0.95, 1 or 1.1 in the three rounds.
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from experiments import (definition, papers, report, report_data, store, tomllib,  # noqa: E402
                         verdicts_page)
from experiments.analysis import Measured  # noqa: E402

RATES = {"centr": 40000, "poplar": 90000, "silo": 80000, "none": 150000, "aether-cd": 70000,
         "aether-c": 50000, "aether-d": 60000, "pwal": 65000, "mine": 45000}
NOISE = {1: 0.95, 2: 1.0, 3: 1.1}
MACHINE = "AMD EPYC 7R13 Processor, 2 cores, Linux 6.18.44"
ORIGIN = {"revision": "0123456789ab", "binary": "feed", "machine": MACHINE, "unsafe": ""}

LINES = """
id = "P5"
source = "Poplar, Fig. 5"
title = "Throughput against devices"
claim = "Parallel streams add bandwidth: two devices give Poplar twice the centralized log's."
published = "Poplar and Silo about 2 times the centralized log"
setting = "24 cores, two SSDs of 1.2 GB/s"
here = "two simulated devices of 21 us and 100 MB/s"
[[grid]]
[grid.axes]
threads = [1, 2, 4, 8]
workload = ["ycsb", "tpcc"]
log = ["centr", "silo", "poplar"]
[table]
columns = ["tps", "commit_p50_us"]
[table.ratios]
x_centr = { of = "tps", to = { log = "centr" } }
[plot]
kind = "lines"
x = "threads"
y = "tps"
series = "log"
panels = "workload"
x_scale = "log2"
x_label = "worker threads"
y_label = "transactions/s"
[[published_points]]
series = "centr"
panel = "ycsb"
x = [1, 4, 8, 20]
y = [300000, 600000, 650000, 660000]
from = "Fig. 5a"
[[published_points]]
series = "poplar"
panel = "ycsb"
x = [1, 4, 8, 20]
y = [300000, 900000, 1300000, 1400000]
from = "Fig. 5a"
[number]
what = "Poplar over the centralized log, 8 threads"
ours = "ratio('tps', {'log': 'poplar'}, {'log': 'centr'}, threads=8, workload='ycsb')"
published = 2.0
unit = "x"
[[check]]
says = "Poplar has at least 1.8 times the centralized log's throughput"
holds = "ratio('tps', {'log': 'poplar'}, {'log': 'centr'}, threads=8, workload='ycsb') >= 1.8"
[[check]]
says = "throughput rises up to 64 threads"
holds = "rising(values('tps', log='poplar', workload='ycsb'))"
needs_cores = 64
"""

# Checks of LINES with published numbers.
NUMBERS = """
[[check]]
quotes = "so"
says = "a number"
ours = "ratio('tps', {'log': 'poplar'}, {'log': 'centr'}, threads=8, workload='ycsb')"
published = 2
derived = "4 / 2"
cause = "paper"
[[check]]
says = "twice the devices"
ours = "ratio('tps', {'log': 'silo'}, {'log': 'centr'}, threads=8, workload='ycsb')"
published = 2
device_bound = "two devices over one"
"""

BARS = """
id = "demo"
title = "What a durable commit costs"
claim = "Durable commits keep most of the throughput if they are pipelined."
[[grid]]
[grid.axes]
workload = ["YCSB-A", "NewOrder, Payment"]
cc = ["occ", "2pl-nowait", "2pl-waitdie"]
policy = ["no durability", "sync", "pipelined", "async"]
[table]
columns = ["tps", "commit_p50_us"]
[plot]
kind = "bars"
x = "cc"
y = ["tps", "commit_p50_us"]
low_high = ["commit_p50_us", "commit_p99_us"]
y_scale = ["linear", "log"]
y_label = ["acknowledged\\ntransactions/s", "commit latency\\n(p50 to p99)"]
series = "policy"
panels = "workload"
"""

POINTS = """
id = "P9"
title = "Every scheme"
claim = "Up and to the left is better."
[[grid]]
[grid.axes]
log = ["centr", "silo", "poplar", "aether-c", "mine"]
[plot]
kind = "points"
x = "commit_p50_us"
y = "tps"
series = "log"
x_scale = "log"
x_label = "commit latency, p50 (us)"
y_label = "transactions/s"
"""

STACKED = """
id = "P8"
source = "Poplar, Fig. 8"
title = "Where the time goes"
claim = "SSN allocation is cheap."
needs_cores = 16
[[grid]]
[grid.axes]
workload = ["ycsb", "tpcc"]
log = ["centr", "silo", "poplar"]
[plot]
kind = "stacked"
x = "log"
y = ["time_work_pct", "time_log_work_pct", "time_log_contention_pct", "time_idle_pct"]
panels = "workload"
y_label = "share of the workers' time (%)"
[[published_points]]
series = "work"
panel = "ycsb"
x = ["centr", "silo", "poplar"]
y = [55, 70, 72]
from = "Fig. 8, read off"
[[published_points]]
series = "log contention"
panel = "ycsb"
x = ["centr", "silo", "poplar"]
y = [30, 5, 6]
from = "Fig. 8, read off"
[[check]]
says = "Poplar's log contention is below 10 %"
holds = "value('time_log_contention_pct', log='poplar', workload='ycsb') < 10"
"""

CDF = """
id = "E9"
also = ["E11"]
source = "ELEDA, Fig. 9"
title = "Distribution of commit latency"
claim = "ELEDA buys throughput with commit latency."
[[grid]]
flags = { cdf = true }
[grid.axes]
log = ["centr", "poplar"]
[plot]
kind = "cdf"
series = "log"
x_label = "commit latency"
y_label = "share of the commits"
[[check]]
says = "Poplar's commits are slower"
holds = "ratio('commit_p50_us', {'log': 'poplar'}, {'log': 'centr'}) > 100"
"""

TIMELINE = """
id = "T1"
title = "The first seconds"
claim = "Nothing stalls while a checkpoint is taken."
[[grid]]
flags = { timeline = true }
[grid.axes]
log = ["centr", "poplar"]
[plot]
kind = "timeline"
x = "seconds"
y = ["tps", "commit_p99_us"]
series = "log"
x_label = "seconds since the start"
y_label = ["transactions/s", "p99 (us)"]
"""

DEPENDENCIES = """
id = "A15"
source = "Aether, Fig. 15"
title = "Dependencies between logs"
claim = "Records of different logs depend on each other tightly."
[[grid]]
command = "dump"
prepare = { log = "pwal" }
flags = { dependencies = true }
[plot]
kind = "dependencies"
"""


def experiment(toml, own=False):
    fields = tomllib.loads(toml)
    return definition.Experiment(fields, fields["id"].lower() + ".toml", own)


def row_of(point, number, **columns):
    axes = point.axes
    log = axes.get("log", axes.get("policy", "centr"))
    rate = RATES.get(log, 60000 + 20000 * (len(log) % 4)) * int(axes.get("threads", 1))
    noise = NOISE[number]
    values = {"tps": rate * noise, "commit_p50_us": 40 * noise * len(log),
              "commit_p99_us": 900 * noise * len(log), "time_work_pct": 60, "time_idle_pct": 10,
              "time_log_work_pct": 30 - len(log), "time_log_contention_pct": len(log)}
    row = {"round": str(number), "thrown_away": "0",
           **{f"axis_{name}": value for name, value in axes.items()},
           "log": log if log in RATES else "none" if log == "no durability" else "centr",
           "commit": log if log in ("sync", "async") else "pipelined",
           "workload": axes.get("workload", "ycsb"),
           **ORIGIN, **{name: f"{value:.3f}" for name, value in values.items()}}
    if log == "async":
        row["unsafe"] = "async"
    return {**row, **columns}


def rows(one, rounds=(1, 2, 3), **columns):
    return [row_of(point, number, **columns) for number in rounds for point in one.points("quick")]


def put(folder, one, name="quick", **columns):
    """Writes rows of an experiment into a folder of results."""
    path = folder / one.id.lower() / f"{name}.csv"
    path.parent.mkdir(exist_ok=True)
    store.write_rows(path, rows(one, **columns))
    return path


def collected(folder, *experiments):
    """Returns the data for a report of these experiments: its entries, and their summary."""
    entries = report_data.collect(folder, {one.id: one for one in experiments})
    return entries, report_data.summary(entries)


def markdown(folder, *experiments):
    """Returns the pages of the report in Markdown, one after the other."""
    entries, total = collected(folder, *experiments)
    return "\n".join([verdicts_page.index(entries, total),
                      *(papers.markdown(paper, folder) for paper in papers.of_entries(entries)),
                      report.own_page(entries, folder)])


def measured(one, **columns):
    return Measured(one, rows(one, **columns))


def extras(one):
    """Returns rows of logjam's other files: a distribution, a time series, and dependencies."""
    found = {"cdf": [], "timeline": [], "dependencies": []}
    for row in rows(one):
        own = {name: value for name, value in row.items() if name.startswith(("round", "axis_"))}
        middle = float(row["commit_p50_us"])
        for step in range(1, 201):
            fraction = step / 200
            latency = middle * (0.4 + 0.8 * fraction + 0.02 / (1.004 - fraction))
            found["cdf"].append({**own, "fraction": f"{fraction:.3f}",
                                 "latency_us": f"{latency:.1f}"})
        for tick in range(60):
            stall = 0.2 if 25 <= tick < 29 else 1 + 0.05 * (tick % 3)
            found["timeline"].append({**own, "seconds": f"{tick / 10:.1f}",
                                      "tps": f"{float(row['tps']) * stall:.0f}",
                                      "commit_p99_us": f"{middle * 20 / stall:.1f}"})
    for i in range(150):
        found["dependencies"].append({
            "round": "1", "from_stream": str(i * 7 % 8), "from_order": str(i),
            "to_stream": str((i * 7 + i % 3) % 8), "to_order": str(i + 3 + i % 11),
            "since": str(i % 9), "rows": "1"})
    return found
