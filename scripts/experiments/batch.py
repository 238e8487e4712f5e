"""A batch: one experiment's jobs in a directory that many machines share.

A job is one point in one round. The directory contains plan.json (all jobs, in order, with the data
to run them), a copy of the binary, which a later build does not change, rows/ (one file per job)
and logs/. A row's file is written under another name, synced and renamed. So a job is done when its
file exists. If a job runs twice, because its node seemed dead, the second file replaces the first.

`merge` puts each job's row into the experiment's CSV exactly once: all rows, in the order of the
plan, or none.
"""

import contextlib
import dataclasses
import itertools
import json
import os
import pathlib
import re
import socket

from experiments import file_flags, files, plan, store
from experiments.files import alone
from experiments.errors import Refused
from experiments.runner import Outcome, PointRefused, Runner, digest, refuse_without_effect

FIGURES = pathlib.Path(__file__).resolve().parent.parent / "figures.py"
# The relative paths, in a batch's directory, of all files that batches make.
OWN = re.compile(r"plan\.json|logjam|merged|slurm_jobs|hosts|(array|merge)\.sbatch|"
                 r"array-[0-9]+\.jobs|rows/[0-9]{5,}\.json|(rows/)?\.[0-9]+-[0-9a-f]{16}\.partial|"
                 r"logs/([0-9]{5,}|merge|slurm-[0-9]+|parallel(-[0-9]+)?)\.log")
FOLDERS = ("rows", "logs")


def _write(path, content):
    files.write(path, json.dumps(content, indent=1))


def _entries(folder):
    """Yields (path, relative path, whether batches make files of this name) of each entry."""
    for place in (folder, *(folder / name for name in FOLDERS)):
        for path in sorted(place.iterdir()) if place.is_dir() else ():
            name = str(path.relative_to(folder))
            if name not in FOLDERS:
                yield path, name, OWN.fullmatch(name) is not None


def _refuse_links(folder):
    """Raises Refused if a file of a batch is a link or a device, which may lead elsewhere."""
    for name in FOLDERS:
        files.refuse_link(folder / name)
    for path, _, is_own in _entries(folder):
        if is_own:
            files.is_there(path)


def _remove(folder):
    """Removes the files that the batch made. Prints which other files stay."""
    kept = []
    for path, name, is_own in list(_entries(folder)):
        if is_own:
            path.unlink()
        else:
            kept.append(name)
    for name in FOLDERS:
        with contextlib.suppress(OSError):
            (folder / name).rmdir()  # a folder that is not empty raises OSError, and stays
    if kept:
        print(f"{folder}: kept, because no batch made them: {', '.join(sorted(kept))}", flush=True)


def refuse_path(path):
    """Raises Refused if a path has a character that a shell or another machine would change."""
    if not str(path).isprintable():
        raise Refused(f"{str(path)!r} has a control character, or is no text: it cannot be given "
                      "to other machines")


def ranges(numbers):
    """Returns a text of ranges: [1, 2, 3, 7] becomes "1-3, 7"."""
    runs = [[number for _, number in run] for _, run in itertools.groupby(
        enumerate(numbers), lambda place: place[1] - place[0])]
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


class Batch:
    """The batch in `folder`, as described by plan.json."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.plan = plan.read(self.folder)
        self.jobs, self.points = self.plan["jobs"], plan.points(self.plan)
        self.rows, self.logs = self.folder / "rows", self.folder / "logs"
        _refuse_links(self.folder)

    def name_of(self, index):
        return f"job {index}, round {self.jobs[index]['round']}: {self.points[index].name}"

    def _path(self, index):
        return self.rows / f"{index:05}.json"

    def run(self, index):
        """Runs a job on this machine and writes its file, unless the file exists."""
        if not 0 <= index < len(self.jobs):
            raise Refused(f"{self.folder} has jobs 0 to {len(self.jobs) - 1}, not {index}")
        if self.result(index)[0]:
            print(f"{self.name_of(index)}: done before", flush=True)
            return
        logjam, said, point = str(self.folder / "logjam"), self.plan, self.points[index]
        if digest(logjam) != said["binary"]:
            raise Refused(f"{logjam} is not the binary that was submitted")
        file_flags.refuse_in_batch(point)
        if not os.path.isdir(said["directory"]):
            raise Refused(f"there is no {said['directory']} here, where it was submitted")
        os.chdir(said["directory"])  # --wal_dir may be relative to it
        host = os.environ.get("SLURMD_NODENAME") or socket.gethostname()
        made = {"plan": said["fingerprint"], "job": index, "host": host,
                "cores": len(os.sched_getaffinity(0))}
        # Each node has its own directory, so that no node removes another node's logs.
        wal_dir = pathlib.Path(os.path.expandvars(said["wal_dir"]), host)
        with Runner(logjam, str(wal_dir), said["tries"]) as runner:
            try:
                outcome = runner.run(point)
                if said["skip_refused"]:
                    refuse_without_effect(point, outcome.row)
                made.update(row=outcome.row, extras=outcome.extras)
            except PointRefused as error:
                if not said["skip_refused"]:
                    raise
                made["refused"] = error.reason
        _write(self._path(index), made)
        print(f"{self.name_of(index)}: done on {host}", flush=True)

    def result(self, index):
        """Returns a job's result, or None and the reason ("" if there is no file)."""
        path = self._path(index)
        try:
            found = plan.read_result(path)
        except FileNotFoundError:
            return None, ""
        if found is None:
            return None, f"{path} is not whole"
        if found["plan"] != self.plan["fingerprint"]:
            return None, f"{path} is a row of another plan"
        if found["job"] != index:
            return None, f"{path} is the row of job {found['job']}"
        return found, ""

    def missing(self):
        return [index for index in range(len(self.jobs)) if self.result(index)[0] is None]

    def merged(self):
        return files.is_there(self.folder / "merged")

    def forget(self, hosts):
        results = [self.result(index)[0] for index in range(len(self.jobs))]
        made_there = [found["job"] for found in results if found and found["host"] in hosts]
        for index in made_there:
            self._path(index).unlink()
        return len(made_there)

    def _last_words(self, index):
        try:
            log = files.read_bytes(self.logs / f"{index:05}.log").decode(errors="replace")
        except (OSError, Refused):
            log = ""
        return f"{self.name_of(index)}: {(log.splitlines() or ['no log: it did not begin'])[-1]}"

    def _results(self):
        results = [self.result(index) for index in range(len(self.jobs))]
        missing = [index for index, (found, _) in enumerate(results) if found is None]
        if missing:
            damaged = [f"; {wrong}" for _, wrong in results if wrong][:3]
            more = f"\n  and {len(missing) - 3} more" if len(missing) > 3 else ""
            raise Refused(
                f"{len(missing)} of {len(self.jobs)} rows are missing (jobs {ranges(missing)})"
                + "".join(damaged) + ": --submit again submits these alone\n  "
                + "\n  ".join(map(self._last_words, missing[:3])) + more)
        return [found for found, _ in results]

    def _refuse_a_mixture(self, results):
        """Refuses rows of different machines, whose ratios would be meaningless."""
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

    def refuse_csv(self, given):
        """Refuses another CSV than the plan's. A CSV outside the batch must be `given`."""
        csv = pathlib.Path(self.plan["csv"])
        if given and pathlib.Path(given).resolve() != csv:
            raise Refused(f"the rows of {self.folder} go to {csv}, not to {given}")
        if not given and csv.parent.resolve() not in (self.folder, self.folder.parent):
            raise Refused(f"the rows of {self.folder} go to {csv}, which is elsewhere: "
                          f"--into={csv} says that it may be written")

    def refuse_wal_dir(self, given):
        """Refuses another wal_dir than the plan's. One outside the batch must be `given`."""
        said = self.plan["wal_dir"]
        if given and given != said:
            raise Refused(f"the jobs of {self.folder} write to {said}, not to {given}")
        place = pathlib.Path(self.plan["directory"], os.path.expandvars(said)).resolve()
        if not given and not place.is_relative_to(self.folder):
            raise Refused(f"the jobs of {self.folder} write to {said}, which is elsewhere: "
                          f"--wal_dir={said} says that they may")

    def merge(self):
        """Adds all rows to the CSV. Returns the Store, and maps refused points to reasons."""
        with alone(self.plan["csv"]):
            return self._merge_into(store.Store(self.plan["csv"]))

    def _merge_into(self, rows):
        results = self._results()
        measured = [(index, found) for index, found in enumerate(results) if "row" in found]
        self._refuse_a_mixture([found for _, found in measured])
        wanted = [(self.points[index], self.jobs[index]["round"],
                   Outcome(found["row"], found["extras"])) for index, found in measured]
        done = rows.done()
        rows.add_all([each for each in wanted if rows.key(each[0], each[1]) not in done])
        files.write(self.folder / "merged", "")
        return rows, {point.name: found["refused"]
                      for point, found in zip(self.points, results) if "refused" in found}


def make(folder, experiment, jobs, logjam, rows, *, wal_dir, tries, skip_refused, fresh):
    """Returns the batch of these (round, point) pairs in `folder`. An existing batch must have the
    same plan."""
    files.refuse_link(folder)
    folder = pathlib.Path(folder).resolve()
    for path in (folder, rows.path.resolve(), os.getcwd(), wal_dir):
        refuse_path(path)
    for _, point in jobs:
        file_flags.refuse_in_batch(point)
    binary = digest(logjam)
    if rows.rows and rows.rows[0].get("binary") != binary:
        raise Refused(f"{rows.path} has rows of another binary than {logjam}: --fresh begins anew")
    made = {"name": experiment.id, "csv": str(rows.path.resolve()), "binary": binary,
            "wal_dir": wal_dir, "tries": tries, "skip_refused": skip_refused,
            "jobs": [{"round": number, "point": dataclasses.asdict(point)}
                     for number, point in jobs]}
    made["fingerprint"] = plan.fingerprint(made)
    made["directory"] = os.getcwd()
    if folder.exists():
        there = Batch(folder) if os.path.lexists(folder / "plan.json") else None
        if not (fresh or there is None or there.merged()):
            if there.plan["fingerprint"] == made["fingerprint"]:
                return there
            rows = len(there.jobs) - len(there.missing())
            raise Refused(f"{folder} holds another plan, with {rows} rows that are not merged: "
                          "--fresh begins anew, --batch names another directory")
        if there is None and any(folder.iterdir()):
            raise Refused(f"{folder} is there and is not a batch: --batch names another directory")
        _remove(folder)
    for name in FOLDERS:
        (folder / name).mkdir(parents=True, exist_ok=True)
    files.write(folder / "logjam", pathlib.Path(logjam).read_bytes())
    (folder / "logjam").chmod(0o755)
    _write(folder / "plan.json", made)
    return Batch(folder)
