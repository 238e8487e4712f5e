"""Runs several points at once on a simulated machine. No run disturbs another run's virtual time.

A simulated run uses one core of this machine, so there is a runner for each core. Each round has
its own seed.

A Profile is a simulated machine in the experiments. The profiles are config/machines/NAME.toml;
logjam itself reads them, too (`--machine=NAME`). This module takes from them the number of cores,
`{cores}`, and the constants that a sensitivity run changes.
"""

import concurrent.futures
import contextlib
import dataclasses
import datetime
import hashlib
import math
import os
import pathlib
import queue
import re
import shutil
import subprocess
import time

from experiments import files, idle_watch, tomllib
from experiments.definition import CONFIG
from experiments.errors import Refused
from experiments.runner import Runner

# Default values for constants that a profile may omit (sim/machine/profile.cc).
DEFAULTS = {"hold": 0.2, "store_cycles": 4, "lines_noticed": 2}
SHAPE = ("sockets", "cores", "contexts")
NO_COSTS = (*SHAPE, "complexes")


@dataclasses.dataclass
class Job:
    """A point, the seed of its run, and the Store of its row."""

    rows: object
    number: int
    point: object


class SimulatedRunner(Runner):
    """Runs points on the machine of a Profile. Only one thread at a time may use it."""

    def __init__(self, logjam, wal_dir, profile):
        super().__init__(logjam, wal_dir, tries=1, cores=profile.cores)
        self._profile, self._child, self._stopped, self._until = profile, None, False, None

    def run(self, point, seed=1, until=None):
        """Returns the Outcome with this seed. `host_seconds` is the duration on this machine. Raises
        TimeoutExpired at the time `until` of the monotonic clock."""
        self._until = until
        self.always = [f"--machine={self._profile.path}", f"--sim_seed={seed}"]
        # Overwriting an earlier job's log takes longer, so the jobs' order would have an effect.
        self._empty_directories()
        began, begun = datetime.datetime.now(datetime.timezone.utc), time.monotonic()
        outcome = self._run_once(point)
        outcome.row = {"began": began.isoformat(timespec="milliseconds"),
                       "host_seconds": f"{time.monotonic() - begun:.2f}", "binary": self.binary,
                       "profile": self._profile.fingerprint, **outcome.row}
        if not outcome.row.get("machine", "").startswith("simulated"):
            raise Refused(f"{self.logjam} made a row of the machine {outcome.row.get('machine')}: "
                          "it is no simulated one")
        return outcome

    def _empty_directories(self):
        for folder in (self._disk, self._memory):
            shutil.rmtree(folder)
            os.mkdir(folder)

    def _ended(self, line):
        left = None if self._until is None else self._until - time.monotonic()
        if left is not None and left <= 0:
            raise subprocess.TimeoutExpired(line, left)
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as self._child:
            if self._stopped:
                self._child.kill()
            try:
                said, why = self._child.communicate(timeout=left)
            except subprocess.TimeoutExpired:
                self._child.kill()
                raise
        return self._child.returncode, (why.strip() or said.strip()).splitlines()

    def stop(self):
        self._stopped = True
        if self._child is not None:
            self._child.kill()


@contextlib.contextmanager
def runners(logjam, wal_dir, profile, number=None):
    """Yields `number` SimulatedRunners, by default one for each core of this machine."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(SimulatedRunner(logjam, wal_dir, profile))
               for _ in range(number or idle_watch.cores())]


def run_jobs(name, jobs, made, progress, skip=(), until=None):
    """Runs Jobs with the SimulatedRunners `made`. Returns (Job, reason) for each Job that an error
    of the kind `skip` ended. At the time `until` of the monotonic clock, ends the runs without
    their rows."""
    free, refused = queue.SimpleQueue(), []
    for runner in made:
        free.put(runner)

    def run(job):
        runner = free.get()
        try:
            return runner.run(job.point, job.number, until)
        finally:
            free.put(runner)

    with concurrent.futures.ThreadPoolExecutor(len(made)) as pool:
        try:
            waiting = {pool.submit(run, job): job for job in jobs}
            for ended in concurrent.futures.as_completed(waiting):
                job = waiting[ended]
                progress.step(f"{name}, seed {job.number}: {job.point.name}")
                try:
                    job.rows.add(job.point, job.number, ended.result())
                except subprocess.TimeoutExpired:
                    continue
                except skip as error:
                    refused.append((job, error.reason))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for runner in made:
                runner.stop()
            raise
    return refused


@dataclasses.dataclass
class Profile:
    """A file of config/machines/. `fingerprint` distinguishes two versions of the file. `assumed`
    has the names of the numbers whose source says that they are assumed."""

    path: pathlib.Path
    fields: dict
    fingerprint: str
    assumed: set

    def __post_init__(self):
        self.name = self.path.stem  # the name in --machine and in the rows' file name
        self.cores = math.prod(self.fields[name] for name in SHAPE)  # number of hardware contexts

    def constants(self):
        """Returns {name: value} of the costs that have an effect on this machine."""
        missing = {name: value for name, value in DEFAULTS.items() if name not in self.fields}
        found = {}
        for name, value in {**self.fields, **missing}.items():
            if isinstance(value, (str, bool)) or name in NO_COSTS or value == 0:
                continue
            hops = 2 if name.startswith("two_hop_") else 1 if name.startswith("hop_") else 0
            if hops <= self._longest_way() and not self._of_a_missing_cache(name):
                found[name] = value
        return found

    def _longest_way(self):
        if self.fields["sockets"] == 1:
            return 0
        near = {"square": 2, "chassis": 4}.get(self.fields.get("interconnect"), math.inf)
        return 2 if self.fields["sockets"] > near else 1

    def _of_a_missing_cache(self, name):
        size = {"l2": "l2_kib", "l3": "l3_mib"}.get(name.split("_")[0])
        return size is not None and self.fields.get(size) == 0


def find_machine(machine, config=CONFIG):
    folder = config / "machines"
    path = pathlib.Path(machine) if machine.endswith(".toml") else folder / f"{machine}.toml"
    try:
        content = files.read_bytes(path, links=True)
    except OSError as error:
        there = ", ".join(sorted(each.stem for each in folder.glob("*.toml"))) or "none"
        raise Refused(f"there is no machine {machine}: config/machines/ has {there}; a file is "
                      "named by its path, x.toml") from error
    try:
        fields = tomllib.loads(content.decode())
        assumed = set(re.findall(r"^(\w+) *=[^#\n]*# *assumed\b", content.decode(), re.M))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Refused(f"{path} is not TOML: {error}") from error
    missing = [name for name in SHAPE if not isinstance(fields.get(name), int)]
    if missing:
        raise Refused(f"{path} does not say how many {missing[0]} the machine has")
    return Profile(path.resolve(), fields, hashlib.sha256(content).hexdigest()[:12], assumed)
