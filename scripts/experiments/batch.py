"""A batch: one experiment's jobs as a directory that many machines share.

A job is one point in one round. The directory holds plan.json (all jobs in order, and all that a
machine must know to run one), a copy of the binary, so that a build meanwhile does no harm, rows/
(one file a job) and logs/. A row's file is written under another name, synced and renamed: a job is
done when its file is there, and killed jobs leave nothing that could be taken for a row. A job that
runs twice, because its node was only thought dead, replaces its own file by another whole one.

`merge` puts each job's row into the experiment's CSV exactly once: all of them, in the order of the
plan, or none.
"""

import dataclasses
import hashlib
import json
import os
import pathlib
import shutil
import socket

from experiments import store
from experiments.alone import alone
from experiments.definition import Point
from experiments.errors import Refused
from experiments.runner import Outcome, PointRefused, Runner, refuse_without_effect

FIGURES = pathlib.Path(__file__).resolve().parent.parent / "figures.py"
OF_PLAN = ("name", "csv", "binary", "wal_dir", "tries", "skip_refused", "jobs")


def digest(path):
    """Returns the checksum by which Runner names the binary in each row."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]


def _write(path, content):
    """Replaces the file by this JSON; a reader sees the whole file, or the file before it."""
    partial = path.with_name(f"{path.name}.{socket.gethostname()}.{os.getpid()}.partial")
    with open(partial, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def ranges(numbers):
    """Writes [1, 2, 3, 7] as "1-3, 7"."""
    spans = []
    for number in sorted(numbers):
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


class Batch:
    """The batch in `folder`, as plan.json says."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        try:
            plan = json.loads((self.folder / "plan.json").read_text(encoding="utf-8"))
            for job in plan["jobs"]:
                Point(**job["point"]), int(job["round"])
            for name in (*OF_PLAN, "fingerprint", "directory"):
                plan[name]
        except (OSError, ValueError) as error:
            raise Refused(f"{folder} is not a batch: {error}") from error
        except (KeyError, TypeError) as error:
            raise Refused(f"{folder} is not a batch: plan.json is damaged: {error}") from error
        self.plan, self.jobs = plan, plan["jobs"]
        self.rows, self.logs = self.folder / "rows", self.folder / "logs"

    def name_of(self, index):
        job = self.jobs[index]
        return f"job {index}, round {job['round']}: {self.point(index).name}"

    def point(self, index):
        return Point(**self.jobs[index]["point"])

    def log(self, index):
        return self.logs / f"{index:05}.log"

    def _path(self, index):
        return self.rows / f"{index:05}.json"

    def run(self, index):
        """Runs one job on this machine and writes its file, unless it is there."""
        if not 0 <= index < len(self.jobs):
            raise Refused(f"{self.folder} has jobs 0 to {len(self.jobs) - 1}, not {index}")
        if self.result(index)[0]:
            print(f"{self.name_of(index)}: done before", flush=True)
            return
        logjam, plan = str(self.folder / "logjam"), self.plan
        if digest(logjam) != plan["binary"]:
            raise Refused(f"{logjam} is not the binary that was submitted")
        if not os.path.isdir(plan["directory"]):
            raise Refused(f"there is no {plan['directory']} here, where it was submitted")
        os.chdir(plan["directory"])  # flags may name files from there
        host = os.environ.get("SLURMD_NODENAME") or socket.gethostname()
        made = {"plan": plan["fingerprint"], "job": index, "host": host,
                "cores": len(os.sched_getaffinity(0))}
        # A directory for each node, so that no node takes another's logs for leftovers of its own.
        wal_dir = pathlib.Path(os.path.expandvars(plan["wal_dir"]), host)
        with Runner(logjam, str(wal_dir), plan["tries"]) as runner:
            try:
                outcome = runner.run(self.point(index))
                if plan["skip_refused"]:
                    refuse_without_effect(self.point(index), outcome.row)
                made.update(row=outcome.row, extras=outcome.extras)
            except PointRefused as error:
                if not plan["skip_refused"]:
                    raise
                made["refused"] = error.reason
        _write(self._path(index), made)
        print(f"{self.name_of(index)}: done on {host}", flush=True)

    def result(self, index):
        """Returns the content of the job's file, or None and the reason ("" if there is no
        file)."""
        path = self._path(index)
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            if found["plan"] != self.plan["fingerprint"]:
                return None, f"{path} is a row of another plan"
            if found["job"] != index:
                return None, f"{path} is the row of job {found['job']}"
            if "refused" in found:
                return found, ""
            Outcome(dict(found["row"]), dict(found["extras"]))
            if not found["row"] or not found["host"] or not found["cores"]:
                return None, f"{path} has no row"
            return found, ""
        except FileNotFoundError:
            return None, ""
        except (OSError, ValueError, KeyError, TypeError):
            return None, f"{path} is not whole"

    def missing(self):
        """Returns the indexes of the jobs that have no row."""
        return [index for index in range(len(self.jobs)) if self.result(index)[0] is None]

    def merged(self):
        """Returns whether the CSV has all rows of this batch."""
        return (self.folder / "merged").exists()

    def forget(self, hosts):
        """Removes the rows that these machines made; returns how many."""
        removed = 0
        for index in range(len(self.jobs)):
            found, _ = self.result(index)
            if found and found["host"] in hosts:
                self._path(index).unlink()
                removed += 1
        return removed

    def _last_words(self, index):
        try:
            lines = self.log(index).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            lines = []
        return lines[-1] if lines else "no log: it did not begin"

    def _results(self):
        """Returns the contents of all jobs' files, in order. Raises Refused if one is missing."""
        results, damaged, missing = [], [], []
        for index in range(len(self.jobs)):
            found, wrong = self.result(index)
            results.append(found)
            if found is None:
                missing.append(index)
            if wrong:
                damaged.append(wrong)
        if missing:
            words = [f"{self.name_of(index)}: {self._last_words(index)}" for index in missing[:3]]
            more = f"\n  and {len(missing) - 3} more" if len(missing) > 3 else ""
            raise Refused(
                f"{len(missing)} of {len(self.jobs)} rows are missing (jobs {ranges(missing)})"
                + "".join(f"; {each}" for each in damaged[:3])
                + ": --submit again submits these alone\n  " + "\n  ".join(words) + more)
        return results

    def _refuse_a_mixture(self, results):
        """Refuses rows of different machines, whose ratios would mean nothing."""
        hosts = {}
        for found in results:
            origin = tuple(found["row"].get(column, "") for column in store.ORIGIN)
            hosts.setdefault((*origin, f"{found['cores']} cores allowed"), []).append(found["host"])
        if len(hosts) > 1:
            kinds = [f"{len(made)} of {', '.join(origin)} (made by {', '.join(sorted(set(made)))})"
                     for origin, made in hosts.items()]
            raise Refused(f"{self.folder} has rows of {len(kinds)} different machines or "
                          f"revisions: {'; '.join(kinds)}; `figures.py merge BATCH "
                          "--forget=NODE,...` forgets the rows of the nodes that do not belong, "
                          "--submit again makes them anew elsewhere")

    def merge(self):
        """Adds all rows to the CSV; returns it, and what logjam refused: a dict of points' names
        to sentences."""
        with alone(self.plan["csv"]):
            return self._merge_into(store.Store(self.plan["csv"]))

    def _merge_into(self, rows):
        results = self._results()
        measured = [(index, found) for index, found in enumerate(results) if "row" in found]
        self._refuse_a_mixture([found for _, found in measured])
        wanted = [(self.point(index), self.jobs[index]["round"],
                   Outcome(found["row"], found["extras"])) for index, found in measured]
        done = rows.done()
        rows.add_all([each for each in wanted if rows.key(each[0], each[1]) not in done])
        (self.folder / "merged").touch()
        return rows, {self.point(index).name: found["refused"]
                      for index, found in enumerate(results) if "refused" in found}


def make(folder, experiment, jobs, logjam, rows, *, wal_dir, tries, skip_refused, fresh):
    """Returns the batch of these (round, point) pairs, for the Store `rows`, in `folder`: a new
    one, or the one that is there if it is of the same plan, so that its rows count."""
    folder = pathlib.Path(folder).resolve()
    binary = digest(logjam)
    if rows.rows and rows.rows[0].get("binary") != binary:
        raise Refused(f"{rows.path} has rows of another binary than {logjam}: --fresh begins anew")
    plan = {"name": experiment.id, "csv": str(rows.path.resolve()), "binary": binary,
            "wal_dir": wal_dir, "tries": tries, "skip_refused": skip_refused,
            "jobs": [{"round": number, "point": dataclasses.asdict(point)}
                     for number, point in jobs]}
    content = json.dumps([plan[name] for name in OF_PLAN], sort_keys=True)
    plan["fingerprint"] = hashlib.sha256(content.encode()).hexdigest()[:16]
    plan["directory"] = os.getcwd()
    if folder.exists():
        there = Batch(folder) if (folder / "plan.json").exists() else None
        over = fresh or there is None or there.merged()
        if not over and there.plan["fingerprint"] == plan["fingerprint"]:
            return there
        if not over:
            rows = len(there.jobs) - len(there.missing())
            raise Refused(f"{folder} holds another plan, with {rows} rows that are not merged: "
                          "--fresh begins anew, --batch names another directory")
        if there is None and any(folder.iterdir()):
            raise Refused(f"{folder} is there and is not a batch: --batch names another directory")
        shutil.rmtree(folder)
    for each in ("rows", "logs"):
        (folder / each).mkdir(parents=True)
    shutil.copy2(logjam, folder / "logjam")
    _write(folder / "plan.json", plan)
    return Batch(folder)
