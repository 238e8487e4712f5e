#!/usr/bin/python3
"""Says how near runs come to what this machine can do: their bound, and what binds them.

    scripts/sweep.sh --out=x.csv log=none,centr threads=1,2 -- --workload=tpcc --device=null
    scripts/bound.py x.csv                           # or the rows of an experiment

ROWS are rows of `run` or `micro` on this machine. The script measures the most lines, bytes and
instructions a second (`logjam machine rates`, kept in --rates). It counts what a transaction needs:
it runs the command of each point on the simulated machine, with the row's flags (kept in --counts).

- Lines: cache lines from memory or from another core that the hardware did not fetch ahead. A line
  that the simulated machine's caches have, the shared one too, does not count.
- Bytes: of the lines of memory that the hardware fetched ahead, because they follow each other.
- Instructions: those of the processor's PMU, if the row has them; else the simulated machine's,
  which leave out libraries and the kernel.
- Writes: synced writes of the log. Their rate is the best of `logjam device` with the row's --sync.

`bound_us` is the time of a worker's core that a transaction needs at least: the largest of the four
times, because a core can do the four at once. `bound_by` names that one. `of_bound_pct` is its share
of the time that the transaction took. A time is empty if it was not measured. The log's threads
count as if the workers' cores did their work. A line of another core has the price of a line of
memory.
"""

import collections
import csv
import io
import json
import pathlib
import re
import statistics
import subprocess
import tempfile

from experiments import files, store
from experiments.definition import CONFIG
from experiments.errors import Refused, parser, run_main
from experiments.runner import logjam_of, revision_of
from experiments.text_tables import print_lines, say

WHAT = ("lines", "bytes", "instructions", "writes")
LINE_BYTES = 64
FAR = ("another core", "another complex", "another socket", "own memory", "remote memory")
AHEAD = "lines of memory among them that the hardware fetched ahead"
COUNTED = ("lines", "bytes", "instructions", "counted_on", "counted_by")
ON_A_DISK = re.compile(r"--device=(file|sync)\b")


def ended(line):
    done = subprocess.run(list(map(str, line)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        why = (done.stderr.strip().splitlines() or ["it does not say why"])[-1]
        raise Refused(f"{' '.join(map(str, line))} ended with status {done.returncode}: {why}")
    return done.stdout


def kept(path, make):
    """Returns the rows in a file. If there is none, writes the rows that make() returns."""
    path = pathlib.Path(path)
    if not files.is_there(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        store.write_rows(path, make())
    return files.read_rows(path)


class Rates:
    """The most that the machine does in a second."""

    def __init__(self, rows):
        try:
            self._best = collections.defaultdict(float)
            for row in rows:
                key = row["what"], row.get("sync") or "", int(row["threads"])
                self._best[key] = max(self._best[key], float(row["per_s"]))
        except (KeyError, ValueError) as error:
            raise Refused(f"the rates are not those of `logjam machine rates`: {error}") from error

    def of(self, what, cores, sync=""):
        """Returns the most a second on this number of cores, or None if nobody measured it."""
        known = {threads: most for (of, by, threads), most in self._best.items()
                 if (of, by) == (what, sync)}
        if what == "writes":  # the disk's, however many cores write
            return max(known.values(), default=None)
        if cores in known:
            return known[cores]
        return min(cores * known[1], max(known.values())) if 1 in known else None


def bound(rates, needs, cores, sync=""):
    """Returns {what: microseconds of one of `cores` cores} for what was counted and measured."""
    most = {what: rates.of(what, cores, sync) for what in WHAT}
    return {what: needs[what] * cores * 1e6 / most[what] for what in WHAT
            if needs.get(what) is not None and most[what]}


def counts_of(report, row):
    """Returns what a transaction (an insert, a call) needs, from the simulator's report and row."""
    counted = {who: int(count) for count, who in
               re.findall(r"^ *(\d+)  ([^;\n]+)$", report, re.MULTILINE)}
    done = next((row[name] for name in ("transactions", "inserts", "calls") if row.get(name)), None)
    if not done:
        return dict.fromkeys(COUNTED[:3])
    far, ahead = sum(counted[who] for who in FAR), counted[AHEAD]
    return {"lines": (far - ahead) / done, "bytes": LINE_BYTES * ahead / done,
            "instructions": counted["instructions"] / done}


def simulated_by(options):
    return (f"--machine={options.machine} --seconds={options.sim_seconds} "
            f"--warmup={options.sim_warmup}")


def count(simulator, options, given):
    """Runs a row's command on the simulated machine. Returns what a transaction needs there."""
    with tempfile.TemporaryDirectory() as folder:
        words = ON_A_DISK.sub("--device=null", given.replace("{config}", str(CONFIG))).split()
        words = [word for word in words if not word.startswith(("--wal_dir", "--overwrite"))]
        where = [] if "--primitive" in given else [f"--wal_dir={folder}/log"]
        report = ended([simulator, *words, *where, *simulated_by(options).split(),
                        "--report=accesses", f"--json={folder}/row.json"])
        row = json.loads(pathlib.Path(folder, "row.json").read_text(encoding="utf-8"))
    return {**{name: "" if need is None else f"{need:.6g}"
               for name, need in counts_of(report, row).items()},
            "counted_on": store.SEED.sub("", row["machine"]), "counted_by": row["revision"]}


class Counts:
    """What a transaction needs, by the command of its row and the simulation's flags. What is in the
    file is not run again."""

    def __init__(self, simulator, options):
        self._simulator, self._options = simulator, options
        self._rows = files.read_rows(options.counts) if files.is_there(options.counts) else []

    def of(self, given):
        key = {"given": given, "simulated": simulated_by(self._options)}
        for row in self._rows:
            if key.items() <= row.items():
                return row
        say(f"counting: {given}")
        self._rows.append({**key, **count(self._simulator, self._options, given)})
        self._options.counts.parent.mkdir(parents=True, exist_ok=True)
        store.write_rows(self._options.counts, self._rows)
        return self._rows[-1]


def judged(rows, counts, rates):
    """Returns the row of a point: its rate, its needs, its bound. `rows` are its rounds."""
    one, steady = rows[0], [row for row in rows if not row.get("unsteady")]
    column = next((name for name in ("tps", "inserts_s", "calls_s") if one.get(name)), "tps")
    per_s = [rate for row in steady if (rate := store.number_of(row.get(column)))]
    cores, sync = min(int(one["threads"]), cores_of(one["machine"])), one.get("sync", "")
    pmu = [of for row in steady if (of := store.number_of(row.get("instructions_txn")))]
    syncs = [of for row in steady if (of := store.number_of(row.get("transactions_sync")))]
    needs = {name: store.number_of(counts[name]) for name in COUNTED[:3]}
    if pmu:
        needs["instructions"] = statistics.median(pmu)
    needs["writes"] = 1 / statistics.median(syncs) if syncs else None
    made = {name: text for name, text in one.items() if name.startswith("axis_")}
    made |= {"threads": one["threads"], "rounds": str(len(per_s)),
             "unsteady": str(len(rows) - len(steady)), "per_s": "", "took_us": ""}
    times = bound(rates, needs, cores, sync)
    made |= {f"{what}_txn": needs[what] for what in WHAT}
    made |= {f"{what}_us": times.get(what) for what in WHAT}
    most = max(times, key=times.get, default=None)
    made |= {"bound_us": times.get(most), "of_bound_pct": None, "bound_by": most}
    if per_s:
        took = cores * 1e6 / statistics.median(per_s)
        made |= {"per_s": statistics.median(per_s), "took_us": took}
        if most:
            made["of_bound_pct"] = 100 * times[most] / took
    made |= {"instructions_from": "PMU" if pmu else "simulated", **{
        name: counts[name] for name in COUNTED[3:]},
        **{name: one.get(name) for name in ("revision", "machine", "given")}}
    return {name: "" if value is None else f"{value:.6g}" if isinstance(value, float) else value
            for name, value in made.items()}


def cores_of(machine):
    found = re.search(r", (\d+) cores", machine)
    if not found:
        raise Refused(f"a row's machine says nothing of its cores: {machine!r}")
    return int(found[1])


def measured_rates(logjam, rows, wal_dir):
    """Returns rows of the machine's rates. Measures the disk only if a row has synced writes."""
    say("measuring the machine's rates: let nothing else run")
    rates = list(csv.DictReader(io.StringIO(ended([logjam, "machine", "rates"]))))
    for sync in sorted({row["sync"] for row in rows if row.get("transactions_sync")}):
        with tempfile.TemporaryDirectory(dir=wal_dir) as folder:
            ended([logjam, "device", f"--wal_dir={folder}", f"--sync={sync}",
                   f"--csv={folder}/card.csv"])
            rates += [{"what": "writes", "how": f"{point['write_bytes']} B", "sync": sync,
                       "threads": point["writes_at_once"], "per_s": point["writes_s"]}
                      for point in files.read_rows(f"{folder}/card.csv")]
    return rates


def print_bounds(made):
    axes = [name for name in made[0] if name.startswith("axis_")]
    columns = ["per_s", "took_us", *(f"{what}_us" for what in WHAT), "of_bound_pct"]
    print_lines([*(name.removeprefix("axis_") for name in axes), *columns, "bound_by"],
                [[*(row[name] for name in axes), *(store.number_of(row[name]) for name in columns),
                  row["bound_by"]] for row in made])
    unsteady = sum(int(row["unsteady"]) for row in made)
    if unsteady:
        say(f"{unsteady} unsteady rows do not count.")


def main():
    options = parser(__doc__)
    options.add_argument("rows", metavar="ROWS", help="a CSV of scripts/sweep.sh or figures.py run")
    options.add_argument("--out", help="write the table to this CSV")
    options.add_argument("--logjam", help="the binary; else $LOGJAM, or build/logjam")
    options.add_argument("--simulator", help="the simulated one; else $LOGJAM_SIM, or build-sim/logjam")
    options.add_argument("--machine", default="this", help="the profile of this machine")
    options.add_argument("--rates", type=pathlib.Path, default="build/bound/rates.csv")
    options.add_argument("--counts", type=pathlib.Path, default="build/bound/counts.csv")
    options.add_argument("--wal_dir", default="/var/tmp", help="on the disk of the rows' logs")
    options.add_argument("--sim_seconds", default="0.02", help="virtual seconds that are counted")
    options.add_argument("--sim_warmup", default="0.1", help="virtual seconds before, to fill caches")
    options = options.parse_args()
    rows = store.rows_of(files.read_text(options.rows), options.rows)
    native = [row for row in rows if not store.simulated(row)]
    if not native or any(row["given"].split()[0] not in ("run", "micro") for row in native):
        raise Refused(f"{options.rows} has no rows of `run` or `micro` on a real machine alone")
    rates = Rates(kept(options.rates, lambda: measured_rates(
        logjam_of(options.logjam), native, options.wal_dir)))
    counts = Counts(logjam_of(options.simulator, simulated=True), options)
    points = collections.defaultdict(list)
    for row in native:
        points[row["given"]].append(row)
    made = [judged(of, counts.of(given), rates) for given, of in points.items()]
    print_bounds(made)
    if options.out:
        store.write_rows(options.out, made)


if __name__ == "__main__":
    run_main(main)
