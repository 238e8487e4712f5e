"""Runs logjam for one point, and repeats the run if other programs used the cores.

The runner has two directories for logs: {dir} under the user's --wal_dir, which should be a real
disk, and {memory} in memory. Devices that only simulate writes (`sim:`, `nvm`) use {memory}, so
their logs do not disturb the disk. The runner removes both directories at its end, and removes the
directories of killed runners.
"""

import contextlib
import dataclasses
import datetime
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from experiments import files, idle_watch
from experiments.definition import CONFIG, text
from experiments.errors import BAD_INPUT, Refused
from experiments.files import alone
from experiments.store import EXTRAS
from experiments.text_tables import thrown_away

DISKS, IN_MEMORY = ("file", "sync"), ("tmpfs", "ramfs")  # writing devices; file systems in memory
OF_THE_RUN = ("tps", "transactions", "log_mb_s", "log_bytes_txn")  # copied into the recovery's row


class PointRefused(Refused):
    """logjam itself refused the flags. `reason` is logjam's sentence."""


@dataclasses.dataclass
class Outcome:
    """The row of a run, and the rows of its extra files, by the flags that name the files."""

    row: dict
    extras: dict


def refuse_without_effect(point, row):
    # The column contains a list: "--tpcc_mix (of workload tpcc), --pwal_ngroup (of --log=pwal)".
    for axis, of in re.findall(r"--(\w+)( \([^)]*\))?(?:, |$)", row.get("without_effect") or ""):
        if axis in point.axes:
            raise PointRefused(f"--{axis}{of} has no effect here")


def file_system_of(path):
    if not os.path.exists(path):
        return ""
    return subprocess.run(["findmnt", "-fno", "FSTYPE", "--target", path], text=True, check=False,
                          stdout=subprocess.PIPE).stdout.strip()


def logjam_of(given=None, simulated=False):
    name, folder, make = (("LOGJAM_SIM", "build-sim", "make sim") if simulated else
                          ("LOGJAM", "build", "make"))
    path = pathlib.Path(given or os.environ.get(name) or CONFIG.parent / folder / "logjam")
    if not (path.is_file() and os.access(path, os.X_OK)):
        raise Refused(f"there is no {'simulated ' * simulated}program {path}; `{make}` builds it, "
                      "--logjam names another one")
    return str(path.resolve())


def digest(path):
    with open(files.opened(path, links=True), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:12]


def revision_of(logjam):
    """Returns the revision that `logjam --version` ends with, or ""."""
    said = subprocess.run([logjam, "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, check=False).stdout
    return said.split()[-1] if said.split() else ""


def listed_schemes(logjam):
    """Returns the list of `logjam list schemes --json`."""
    listed = subprocess.run([logjam, "list", "schemes", "--json"], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, check=False)
    if listed.returncode != 0:
        raise Refused(f"{logjam} cannot list its schemes as JSON: {listed.stderr.strip()}")
    return json.loads(listed.stdout)["schemes"]


def schemes_of(logjam):
    """Maps all schemes that log to their flags: the scheme, and the device that it needs."""
    return {scheme["name"]: {"log": scheme["name"], **(
        {} if scheme["device"] == "any" else {"device": scheme["device"]})}
        for scheme in listed_schemes(logjam) if scheme["logs"]}


def _own_directory(folder):
    """Makes a directory in `folder`, and removes the directories of killed runners."""
    os.makedirs(folder, exist_ok=True)
    for path in pathlib.Path(folder).glob("logjam-figures-*"):
        pid = re.match(r"logjam-figures-(\d+)-", path.name)
        if pid and not os.path.exists(f"/proc/{int(pid[1])}"):
            shutil.rmtree(path, ignore_errors=True)
    # All names have the same length: a simulated run depends on the memory that names take.
    return tempfile.mkdtemp(prefix=f"logjam-figures-{os.getpid():07}-", dir=folder)


def _sentence(said):
    return said[-1].removeprefix("logjam: ") if said else "it does not say why"


def _with_log(command, flags):
    """Returns the flags, with the directory of a log if the run has a log."""
    flags = dict(flags)
    if "primitive" not in flags:
        flags.setdefault("wal_dir", "{dir}")
        if command in ("run", "micro"):
            flags.setdefault("overwrite", True)
    return flags


def _files(folders):
    return [path for folder in folders for path in pathlib.Path(folder).rglob("*")
            if path.is_file()]


def drop_from_page_cache(folders):
    for path in _files(folders):
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Runner:
    """Runs points with one binary. Use it in a `with` statement. Repeats a disturbed run until
    `tries` runs were made; then the last run counts."""

    def __init__(self, logjam, wal_dir, tries=4, cores=None):
        self.logjam, self.tries = logjam, tries
        self.always = []  # flags of all points
        self._cores = cores or idle_watch.cores()
        self.binary = digest(logjam)
        self.thrown_away = self.kept_disturbed = 0
        self.tell = lambda words, passing=False: None  # prints the reason for a wait
        self._switches, self._warned, self._wal_dir = {}, False, str(wal_dir)
        self._disk = _own_directory(wal_dir)
        self._memory = _own_directory("/dev/shm" if os.access("/dev/shm", os.W_OK) else wal_dir)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for folder in (self._disk, self._memory):
            shutil.rmtree(folder, ignore_errors=True)

    def run(self, point):
        """Returns the Outcome of an undisturbed run of this Point, or of the last of `tries` runs.
        Raises PointRefused if logjam refuses the point's flags, Refused if the run fails."""
        thrown_away = 0
        self._warn_of_memory(point)
        while True:
            if self.tries > 1:
                idle_watch.wait_until_idle(self.tell)
            began = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
            watch = idle_watch.Watch()
            outcome = self._run_once(point)
            others, switches = watch.others(), watch.switches()
            earlier = self._switches.setdefault(point.name, [])
            alone = others <= idle_watch.MOST_OF_OTHERS and not idle_watch.unusual(switches, earlier)
            if alone or thrown_away + 1 >= self.tries:
                break
            thrown_away += 1
            why = (f"others used {100 * others:.0f} % of the cores"
                   if others > idle_watch.MOST_OF_OTHERS else
                   "it was interrupted far more often than in other rounds")
            self.tell(f"thrown away, {why}; try {thrown_away + 1} of {self.tries}: {point.name}")
        if alone:
            earlier.append(switches)
        self.kept_disturbed += not alone
        self.thrown_away += thrown_away
        outcome.row = {"began": began, "thrown_away": str(thrown_away), "others_pct": f"{100 * others:.1f}",
                       "disturbed": str(not alone).lower(),
                       "binary": self.binary, **outcome.row}
        return outcome

    def _warn_of_memory(self, point):
        """Prints once that a log is in memory although its device writes to a disk."""
        flags = point.flags if point.prepare is None else point.prepare
        if self._warned or str(flags.get("device", "file")).partition(":")[0] not in DISKS:
            return
        for place in self._filled(flags.get("wal_dir", "{dir}")).split(","):
            kind = file_system_of(place if os.path.isdir(place) else os.path.dirname(place))
            if kind in IN_MEMORY and not self._warned:
                self._warned = True
                place = self._emptied(place).replace("{dir}", self._wal_dir)
                self.tell(f"{place} is on {kind}, which measures no disk")

    def _run_once(self, point):
        if point.prepare is None:
            return self._call(point.command, point.flags)
        wal_dir = point.flags.get("wal_dir", point.prepare.get("wal_dir", "{dir}"))
        # A log reuses the previous log's files, and a recovery reads a file to its end. Without
        # this code, every recovery would take as long as the recovery of the longest log.
        for path in _files(self._filled(wal_dir).split(",")):
            path.unlink()
        written = self._call("run", {**point.prepare, "wal_dir": wal_dir}).row
        drop_from_page_cache(self._filled(wal_dir).split(","))
        outcome = self._call(point.command, {**point.flags, "wal_dir": wal_dir})
        outcome.row.update({f"run_{name}": written[name] for name in OF_THE_RUN})
        return outcome

    def _flag(self, name, value):
        return f"--{name}" if value is None else f"--{name}={self._filled(value)}"

    def _filled(self, value):
        return text(value).replace("{config}", str(CONFIG)).replace("{dir}", self._disk).replace(
            "{memory}", self._memory).replace("{cores}", str(self._cores))

    def _emptied(self, value):
        return value.replace(str(CONFIG), "{config}").replace(self._disk, "{dir}").replace(
            self._memory, "{memory}")

    @staticmethod
    def _ended(line):
        done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False)
        return done.returncode, (done.stderr.strip() or done.stdout.strip()).splitlines()

    def _line(self, command, flags):
        # A later flag overrides a flag from --flagfile, so --flagfile comes first.
        given = {name: f"{{dir}}/{name}.csv" if name in EXTRAS else value
                 for name, value in flags.items()}
        ordered = sorted(given.items(), key=lambda flag: flag[0] != "flagfile")
        return [self.logjam, command, *self.always, *(self._flag(*flag) for flag in ordered)]

    def refusal(self, point):
        """Returns logjam's reason to refuse the flags of this point, or "". Adds a --csv that
        cannot be written. logjam checks --csv last, so it always ends before it loads anything."""
        nowhere = "{dir}/nowhere/row.csv"
        status, why = self._ended(self._line(point.command, _with_log(
            point.command, {**point.flags, "csv": nowhere})))
        reason = _sentence(why)
        return "" if status != BAD_INPUT or self._filled(nowhere) in reason else reason

    def _call(self, command, flags):
        flags = _with_log(command, {**flags, "csv": "{dir}/row.csv"})
        written = [pathlib.Path(self._disk, name + ".csv") for name in ("row", *EXTRAS)]
        for path in written:
            path.unlink(missing_ok=True)
        line = self._line(command, flags)
        status, why = self._ended(line)
        if status != 0:
            ended = f"ended with status {status}: {why[-1] if why else ''}"
            said = f"{' '.join(line)} {ended}"
            raise (PointRefused(said, _sentence(why)) if status == BAD_INPUT else
                   Refused(said, ended))
        row = files.read_rows(written[0])[0]
        return Outcome({name: self._emptied(value) for name, value in row.items()},
                       {path.stem: files.read_rows(path) for path in written[1:] if path.exists()})


def disturbed(made):
    """Returns the numbers of these Runners' disturbed runs as the end of a sentence, or ""."""
    kept = sum(one.kept_disturbed for one in made)
    return thrown_away(sum(one.thrown_away for one in made)) + (
        f"; {kept} disturbed runs were kept after --tries={made[0].tries}" if kept else "")


@contextlib.contextmanager
def runners(args, results, beside_results):
    """Yields pairs of a Runner and the path of its rows: one pair, or with --beside two pairs."""
    if bool(args.beside) != bool(beside_results):
        raise Refused("--beside, another binary, goes together with where its rows go")
    with contextlib.ExitStack() as stack:
        stack.enter_context(alone(pathlib.Path(args.wal_dir, "logjam-figures"), "another --wal_dir"))
        yield [(stack.enter_context(Runner(logjam_of(program), args.wal_dir, args.tries)), rows)
               for program, rows in ((args.logjam, results), (args.beside, beside_results)) if rows]
