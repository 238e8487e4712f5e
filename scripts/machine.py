#!/usr/bin/python3
"""Measures this machine and simulates it, in a given time, and writes one file for others.

The file NAME.html has a description of the machine, the profile that simulates it, the speed of its
disk and of its cache lines, and rows: atomic operations, locks, log inserts, TPC-C and YCSB-A with
every log scheme, with 1 to all threads, without a disk and on this disk. It has no names of users,
hosts or files. The most important points come first, then the others, then further rounds. The same
command continues a stopped or ended measurement. `scripts/figures.py machines A.html B.html` shows
the files of several machines side by side. `make machine BUDGET=10m` builds both programs first.
"""

import csv
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from experiments import (doubts, files, idle_watch, machine_card, machine_file,
                         machine_page, machine_points, refusals, round_loop, runner, sim_runner,
                         store)
from experiments.errors import STOPPED, Refused, parser, run_main
from experiments.files import alone
from experiments.text_tables import print_lines, say

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUDGETS = {"night": "8h"}
FOR_THE_PAGE = 15  # seconds of the budget, at most a tenth
LEAST_ROUNDS, MOST_ROUNDS, SEEDS = round_loop.LEAST_ROUNDS, 50, 3
NARROW_PCT = 5  # later rounds run only points with a wider interval
MAIN_SHARE = 0.6  # of the time, for the main points before the first simulation
SIMULATED_SHARE = 0.5  # of the time that is left
FIRST_GUESS = 2  # seconds of a run
GIB_OF_A_SIMULATION = 4
FACTS = ("file_system", "mount_options", "disk_model", "scheduler", "write_cache", "fua",
         "rotational")


class Rows(store.Store):
    """Keeps only what the file for others may hold."""

    def add(self, point, number, outcome):
        row = machine_file.trimmed(outcome.row, machine_card.without_names)
        super().add(point, number, runner.Outcome(row, {}))


class Session:
    """Measures until the time `end` of the monotonic clock. `folder` has what earlier calls made."""

    def __init__(self, logjam, simulator, shape, folder, wal_dir, end):
        self.logjam, self.simulator, self.shape = logjam, simulator, shape
        self.folder, self.wal_dir, self.end = folder, wal_dir, end
        self.said = []  # remarks for the file's readers
        experiment = machine_points.experiment(shape, runner.listed_schemes(logjam))
        self.points = {name: machine_points.in_order(
            experiment.points("full", simulated=name == "simulated"), shape)
            for name in machine_file.ROWS}
        # A simulation's time grows with the threads, so the short ones come first.
        self.points["simulated"].sort(key=lambda point: (
            not machine_points.is_main(point.axes), int(point.axes["threads"])))
        self.refused = {name: {} for name in machine_file.ROWS}
        self.rows = {name: Rows(folder / f"{name}.csv") for name in machine_file.ROWS}
        for name, rows in self.rows.items():
            rows.refuse_other_flags(self.points[name])
        self.profile = None

    def _made(self, name, what, *command):
        """Returns the text of a file that a command of logjam prints, or "". Runs it only once."""
        path = self.folder / name
        if not files.is_there(path):
            say(f"measuring {what}")
            done = subprocess.run([self.logjam, *command], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, check=False)
            if done.returncode != 0:
                why = (done.stderr.strip().splitlines() or ["it does not say why"])[-1]
                self.said.append(f"{what}: {why.removeprefix('logjam: ')}")
                return ""
            files.write(path, machine_card.profile_without_names(done.stdout))
        return files.read_text(path)

    def describe(self):
        """Measures the profile, the cores' hand-offs and the disk. Returns these fields of the
        file, and facts of the disk."""
        with tempfile.TemporaryDirectory(dir=self.wal_dir) as folder:
            profile = self._made("profile.toml", "the profile", "machine")
            hand_off = self._made("hand_off.csv", "how long a line takes between two cores",
                                  "machine", "hand-offs")
            self._made("disk.csv", "the disk", "device", f"--wal_dir={folder}", "--csv=-")
        path = self.folder / "disk.csv"
        disk = files.read_rows(path) if files.is_there(path) else []
        facts = {f"disk: {name.replace('_', ' ')}": machine_card.without_names(disk[0][name])
                 for name in FACTS if disk and disk[0][name]}
        for line in profile.splitlines():
            if "Other programs used" in line:
                self.said.append(f"The profile: {line.strip('# ')}")
        if profile and self.simulator:
            self._take_profile()
        return facts, {"profile": profile, "disk": _table(disk, "disk"), "hand_off": _table(
            list(csv.DictReader(hand_off.splitlines())), "hand_off")}

    def _take_profile(self):
        self.profile = sim_runner.find_machine(str(self.folder / "profile.toml"))
        rows = self.rows["simulated"]
        made_by = [rows.rows[0][name] for name in ("profile", "binary")] if rows.rows else []
        if made_by not in ([], [self.profile.fingerprint, runner.digest(self.simulator)]):
            rows.remove()  # of another profile or simulator

    def jobs(self, name, number, main):
        """Returns the points without a row in this round, the most important ones first."""
        rows, done = self.rows[name], self.rows[name].done()
        narrow = round_loop.Auto(NARROW_PCT).is_narrow
        return [point for point in self.points[name]
                if machine_points.is_main(point.axes) >= main
                and point.name not in self.refused[name] and rows.key(point, number) not in done
                and not (number > LEAST_ROUNDS and narrow(
                    round_loop.values_of(rows.rows, point.axes, "per_s")))]

    def measure(self, number, main, one):
        """Runs these jobs with a Runner. Returns whether all of them ended in time."""
        jobs, lasted, now = self.jobs("native", number, main), [], time.monotonic()
        until = now + MAIN_SHARE * (self.end - now) if main else self.end
        progress = round_loop.Progress(len(jobs))
        one.tell = progress.tell
        try:
            for point in jobs:
                begun = time.monotonic()
                if begun + (statistics.fmean(lasted) if lasted else FIRST_GUESS) > until:
                    return False
                progress.step(f"round {number}: {point.name}")
                try:
                    outcome = one.run(point)
                except Refused as error:  # one point without memory must not end a night
                    self.refused["native"][point.name] = error.reason
                    continue
                self.rows["native"].add(point, number, outcome)
                lasted.append(time.monotonic() - begun)
        finally:
            progress.end()
        return True

    def simulate(self, number, main):
        """Simulates these jobs. Ends them when their share of the time is spent."""
        jobs, now = self.jobs("simulated", number, main), time.monotonic()
        if not self.profile or not jobs or now >= self.end:
            return
        progress = round_loop.Progress(len(jobs))
        jobs = [sim_runner.Job(self.rows["simulated"], number, point) for point in jobs]
        with sim_runner.runners(self.simulator, self.wal_dir, self.profile, at_once()) as made:
            try:
                refused = sim_runner.run_jobs(
                    f"simulated with {len(made)} processes", jobs, made, progress, skip=Refused,
                    until=now + SIMULATED_SHARE * (self.end - now))
            finally:
                progress.end()
        self.refused["simulated"].update((job.point.name, reason) for job, reason in refused)

    def play(self):
        """Runs round after round until the time is spent or every interval is narrow."""
        with runner.Runner(self.logjam, self.wal_dir, tries=1) as one:
            for number, main in [(1, True), *((number, False) for number in
                                              range(1, MOST_ROUNDS + 1))]:
                in_time = self.measure(number, main, one)
                if number <= SEEDS:
                    self.simulate(number, main)
                if not in_time and not main:
                    return
                if number >= LEAST_ROUNDS and not self.jobs("native", number + 1, main):
                    self.said.append(f"It ended early: no interval is wider than {NARROW_PCT} %.")
                    return

    def remarks(self):
        """Returns sentences: how much was measured and simulated, and why not the rest."""
        said = []
        for name, verb in (("native", "measured"), ("simulated", "simulated")):
            points, rows = self.points[name], self.rows[name]
            rounds = [len(round_loop.values_of(rows.rows, point.axes, "round")) for point in points]
            missing = [point.name for point, number in zip(points, rounds)
                       if not number and point.name not in self.refused[name]]
            made = [number for number in rounds if number]
            said.append(f"{len(made)} of {len(points)} points were {verb}"
                        + (f", in {min(made)} to {max(made)} rounds." if made else "."))
            if missing and (name == "native" or self.profile):
                said.append(f"{len(missing)} points were not {verb}, because the time was over: "
                            + "; ".join(missing[:3]) + "; ..." * (len(missing) > 3))
            said += [f"{verb}: {line}" for line in
                     refusals.lines(points[::-1], self.refused[name])]
        made_by = {rows.rows[0]["revision"] for rows in self.rows.values() if rows.rows}
        if len(made_by) > 1:
            said.append("The simulator was built from another revision than the native program.")
        return [machine_card.without_names(line) for line in [*said, *self.said]]


def _table(rows, name):
    return store.text_of([{"round": str(number), **{
        column: row[column] for column in machine_file.TABLES[name]}}
        for number, row in enumerate(rows, 1)])


def at_once():
    """Returns the number of simulations at a time: one for each core for which there is memory."""
    with open("/proc/meminfo", encoding="ascii") as lines:
        free_kib = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    return max(1, min(idle_watch.cores(), (free_kib >> 20) // GIB_OF_A_SIMULATION))


def print_plan(shape, experiment):
    """Prints which points would run, in their order."""
    say(f"{shape.sockets} sockets, {shape.cores} cores, {shape.contexts} contexts; threads: "
        + " ".join(map(str, shape.threads())))
    size, lines = experiment.sizes["full"], []
    for main, name in ((True, "native"), (True, "simulated"), (False, "native"),
                       (False, "simulated")):
        blocks = {}
        for point in experiment.points("full", simulated=name == "simulated"):
            axes = point.axes
            if machine_points.is_main(axes) == main:
                blocks.setdefault((axes["load"], axes.get("device", "")), []).append(
                    axes.get("log", axes.get("way")))
        for (load, device), what in blocks.items():
            lines.append([f"{'main' if main else 'other'}, {name}", load, device, float(len(what)),
                          " ".join(dict.fromkeys(what))])
    print_lines(["points", "load", "device", "number", "logs, operations or locks"], lines)
    seconds = size.seconds + size.warmup + 0.5
    native = sum(line[3] for line in lines if line[0].endswith("native"))
    say(f"a native round takes about {native * seconds / 60:.0f} minutes")


def arguments():
    made = parser(__doc__)
    made.add_argument("--budget", default="10m", help="90s, 10m, 1h, ... or night (8h)")
    made.add_argument("--logjam", help="the binary; else $LOGJAM, or build/logjam")
    made.add_argument("--simulator", help="the simulated one; else $LOGJAM_SIM, or build-sim/logjam")
    made.add_argument("--out", default=str(ROOT / "build" / "machine"), help="where the file goes")
    made.add_argument("--wal_dir", default=str(ROOT / "build" / "wal"),
                      help="where the logs go: a directory of the disk that is measured")
    made.add_argument("--plan", action="store_true", help="only print the points")
    made.add_argument("--topology", default="", metavar="TOPOLOGY",
                      help='with --plan: another machine, like "pack:4 numa:1 core:64 pu:1"')
    return made.parse_args()


def simulator_of(given):
    """Returns the simulated program, or the sentence that there is none."""
    try:
        return runner.logjam_of(given, simulated=True), ""
    except Refused as error:
        return None, f"not simulated: {error}"


def main():
    given = arguments()
    if given.topology and not given.plan:
        raise Refused("--topology goes with --plan: no other machine can be measured here")
    begun, budget = time.monotonic(), BUDGETS.get(given.budget, given.budget)
    seconds = round_loop.seconds_of(budget)
    logjam = runner.logjam_of(given.logjam)
    shape = machine_points.shape_of(logjam, given.topology)
    if given.plan:
        print_plan(shape, machine_points.experiment(shape, runner.listed_schemes(logjam)))
        return 0
    card = machine_card.read(shape)
    name = machine_card.id_of(card, shape, runner.digest(logjam))
    folder, page = pathlib.Path(given.out, name), pathlib.Path(given.out, f"{name}.html")
    files.is_there(page)  # refuses a link before the first run
    files.refuse_link(folder)
    with alone(folder, "another --out"), \
            alone(pathlib.Path(given.wal_dir, "logjam-figures"), "another --wal_dir"):
        folder.mkdir(exist_ok=True)
        simulator, why = simulator_of(given.simulator)
        session = Session(logjam, simulator, shape, folder, given.wal_dir,
                          begun + seconds - min(FOR_THE_PAGE, seconds / 10))
        session.said += [why] * bool(why)
        facts, fields = session.describe()
        stopped = []
        try:
            session.play()
        except (KeyboardInterrupt, SystemExit):
            stopped.append("It was stopped before its time was over.")
            raise
        finally:
            said = [f"The last call had a budget of {budget}.", *stopped, *session.remarks()]
            for line in [*said, *doubts.sentences(session.rows["native"].rows)]:
                say(line)
            if session.rows["native"].rows:
                files.write(page, machine_page.own_page({
                    "form": machine_file.FORM, "card": {**card, **facts}, "said": said, **fields,
                    **{key: store.text_of(rows.rows) for key, rows in session.rows.items()}}, name))
                machine_file.read(page)
                say(f"written: {page}")
            say(f"{(time.monotonic() - begun) / 60:.1f} minutes; the same command continues from "
                "here")
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(STOPPED))
    run_main(main, stopped="stopped; the same command continues from here")
