"""Sends a batch to other machines: as Slurm job arrays, or with GNU parallel over ssh.

Slurm: each job is a task. The size of an array is limited, so a large batch has several arrays. A
last job, which depends on all arrays, merges the rows. Slurm itself requeues the tasks of a dead
node. If tasks are missing at the end, the same command submits them again.

GNU parallel: each host runs one task at a time, in the foreground. This process merges the rows.
"""

import contextlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

from experiments import batch as batches
from experiments import files, refusals, round_loop, store
from experiments.files import alone
from experiments.errors import Refused

SLURM, PARALLEL = "slurm", "parallel"
MAX_ARRAY = 1001  # Slurm's default
RETRIES = 3  # of a failed task, on different hosts
# ssh notices a dead host after half a minute, and must not ask for a password.
SSH = "ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=10 -o ServerAliveCountMax=3"

ARRAY = """#!/bin/bash
# Task i of this array runs the job in line i + 1 of the file that is its argument. Slurm has it
# requeued if its node dies.
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --requeue
#SBATCH --open-mode=append
job=$(sed -n "$((SLURM_ARRAY_TASK_ID + 1))p" "$1") || exit
printf -v log '%s/%05d.log' {logs} "$job"
exec {figures} task {batch} "$job" --wal_dir={wal_dir} >>"$log" 2>&1
"""
MERGE = """#!/bin/bash
# Runs when all tasks have ended, even if they failed; its log says what is missing.
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --requeue
exec {figures} merge {batch} --into={csv} >{logs}/merge.log 2>&1
"""


def add_arguments(parser):
    made = parser.add_argument_group("on other machines (docs/EXPERIMENTS.md)")
    made.add_argument("--submit", choices=[SLURM, PARALLEL],
                      help="run each point and round there; again: what is missing of it")
    made.add_argument("--batch", metavar="DIR",
                      help="the batch's directory, which all machines see; else beside the rows")
    made.add_argument("--slurm-options", default="", metavar="OPTIONS",
                      help='for sbatch, like "--partition=x --account=y"')
    made.add_argument("--hosts", metavar="A,B",
                      help="for parallel: hosts, or a file in the form of its --sshloginfile")


def check_arguments(args):
    if not args.submit:
        for name in ("batch", "slurm_options", "hosts"):
            if getattr(args, name):
                raise Refused(f"--{name.replace('_', '-')} goes with --submit")
        return
    if args.beside:
        raise Refused("--beside runs two binaries in turn on one machine: not with --submit")
    if not args.wal_dir:
        raise Refused("--submit needs --wal_dir, a directory of each node's own disk: logs on a "
                      "shared file system would measure the network")
    if args.submit == PARALLEL and not args.hosts:
        raise Refused("--submit=parallel needs --hosts: names, or a file of them")
    if args.hosts and (not args.hosts.isprintable() or os.path.exists(args.hosts)
                       and not os.path.isfile(args.hosts)):
        raise Refused(f"--hosts={args.hosts!r} is neither names nor a file of them")
    if args.hosts and args.submit != PARALLEL or args.slurm_options and args.submit != SLURM:
        raise Refused("--hosts goes with --submit=parallel, --slurm-options with --submit=slurm")
    try:
        shlex.split(args.slurm_options)
    except ValueError as error:
        raise Refused(f"--slurm-options={args.slurm_options}: {error}") from error
    program = "sbatch" if args.submit == SLURM else "parallel"
    if not shutil.which(program):
        raise Refused(f"there is no {program} here")


def submit(args, experiment, points, rounds, csv, logjam, skip_refused=False):
    """Submits the jobs that have no row in the file `csv`. Returns whether the rows are merged."""
    csv = pathlib.Path(csv)
    folder = pathlib.Path(args.batch) if args.batch else csv.with_suffix(".batch")
    with alone(folder, "another --batch") as lock:
        _refuse_if_running(folder)
        with alone(csv, "another --out or --results"):
            rows = store.Store(csv)
            if args.fresh:
                rows.remove()
            jobs = round_loop.jobs_left(points, rounds, rows)
            if not jobs:
                print(f"{experiment.id}: {csv} has all rows")
                return True
            made = batches.make(folder, experiment, jobs, logjam, rows, wal_dir=args.wal_dir,
                                tries=args.tries, skip_refused=skip_refused, fresh=args.fresh)
        missing = made.missing()
        if args.submit == SLURM and missing:
            _to_slurm(made, missing, shlex.split(args.slurm_options))
            return False
        if missing:
            _to_hosts(made, missing, args.hosts, lock)
        merge(made)
    return True


def merge(made):
    if made.merged():
        print(f"{made.folder} is merged: its {len(made.jobs)} jobs are in {made.plan['csv']}")
        return
    rows, refused = made.merge()
    points = {point.name: point for point in made.points}
    for line in refusals.lines(list(points.values()), refused):
        print(line)
    print(f"{made.plan['name']}: the rows of {len(made.jobs)} jobs are merged, {rows.path} has "
          f"{len(rows.rows)} rows")


def _words(made):
    """Returns the placeholders' values for ARRAY, MERGE and GNU parallel, quoted for the shell."""
    return {name: shlex.quote(str(of)) for name, of in (
        ("figures", batches.FIGURES), ("batch", made.folder), ("logs", made.logs),
        ("wal_dir", made.plan["wal_dir"]), ("csv", made.plan["csv"]))}


def _call(*line):
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refused(f"{line[0]}: {done.stderr.strip()}")
    return done.stdout


def _refuse_if_running(folder):
    """Refuses to submit a batch whose tasks are still queued: they would run twice."""
    ids = folder / "slurm_jobs"
    if not files.is_there(ids) or not shutil.which("squeue"):
        return
    wanted = ",".join(re.findall(r"\b[0-9]+\b", files.read_text(ids)))
    # squeue fails if it knows none of these jobs; then none is queued.
    asked = subprocess.run(["squeue", "--noheader", "--array", "--format=%i", f"--jobs={wanted}",
                            "--states=pending,configuring,running,suspended,completing"],
                           capture_output=True, text=True, check=False)
    queued = asked.stdout.split() if asked.returncode == 0 else []
    if queued:
        raise Refused(f"{folder}: {len(queued)} tasks of it are in the queue; wait for them, or "
                      f"end them: scancel {wanted.replace(',', ' ')}")


def max_array():
    said = re.search(r"^\s*MaxArraySize\s*=\s*(\d+)\s*$", _call("scontrol", "show", "config"), re.M)
    return max(1, int(said[1])) if said else MAX_ARRAY


def _to_slurm(made, missing, options):
    array, merging = made.folder / "array.sbatch", made.folder / "merge.sbatch"
    if "\\" in str(made.logs):
        raise Refused(f"{made.folder} has a \\, which Slurm takes out of paths: --batch names "
                      "another directory")
    files.write(array, ARRAY.format(**_words(made)))
    files.write(merging, MERGE.format(**_words(made)))
    size, ids = max_array(), []
    logs = str(made.logs).replace("%", "%%")  # Slurm replaces %j, %a and the like
    common = ["sbatch", "--parsable", f"--job-name=logjam-{made.plan['name']}",
              f"--output={logs}/slurm-%A.log", *options]

    def send(*line):
        ids.append(_call(*common, *line).strip().split(";")[0])  # "id" or "id;cluster"
        with files.appending(made.folder / "slurm_jobs") as file:
            file.write(ids[-1] + "\n")

    try:
        for begin in range(0, len(missing), size):
            part = missing[begin:begin + size]
            lines = made.folder / f"array-{time.time_ns()}.jobs"
            files.write(lines, "".join(f"{index}\n" for index in part))
            send(f"--array=0-{len(part) - 1}", str(array), str(lines))
        send(f"--dependency=afterany:{':'.join(ids)}", str(merging))
    except Refused as error:
        if not ids:
            raise
        raise Refused(f"{error}; the Slurm jobs {' '.join(ids)} are submitted: when they have "
                      "ended, the same command submits the rest") from error
    done = len(made.jobs) - len(missing)
    print(f"{made.plan['name']}: {len(missing)} tasks submitted as Slurm jobs {' '.join(ids[:-1])}"
          + (f" ({done} of {len(made.jobs)} were done before)" if done else "")
          + f"; job {ids[-1]} merges them into {made.plan['csv']} and says so, or what is missing, "
          f"in {made.logs}/merge.log")


def _to_hosts(made, missing, hosts, lock):
    """Runs jobs on the hosts. GNU parallel inherits the lock, so it may outlive this process."""
    if not os.path.isfile(hosts):
        listed = made.folder / "hosts"
        files.write(listed, "".join(f"{host}\n" for host in hosts.split(",") if host))
        hosts = str(listed)
    # parallel replaces {}, {.}, {#} and similar words. The words are in single quotes: '' after a {
    # is an empty pair of quotes for the shell, and prevents the replacement.
    words = {name: word.replace("{", "{''") for name, word in _words(made).items()}
    task = (f"{words['figures']} task {words['batch']} {{}} --wal_dir={words['wal_dir']} "
            f">>{words['logs']}/{{}}.log 2>&1")
    line = ["parallel", "--sshloginfile", os.path.abspath(hosts), "--jobs", "1", "--retries",
            str(RETRIES), "--joblog", str(made.logs / f"parallel-{time.time_ns()}.log"), task]
    log = made.logs / "parallel.log"
    with files.appending(log) as said:
        running = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=said, stderr=said, text=True,
                                   pass_fds=[lock], env={"PARALLEL_SSH": SSH, **os.environ})
        try:
            with contextlib.suppress(BrokenPipeError):
                running.stdin.write("".join(f"{index:05}\n" for index in missing))
                running.stdin.close()
            _wait(made, running, len(missing))
        finally:
            running.terminate()  # parallel then waits for its running tasks, and begins no more
            running.wait()


def _wait(made, running, total):
    begun = time.monotonic()
    every, end = (2, "\r") if sys.stderr.isatty() else (30, "\n")
    while True:
        try:
            running.wait(every)
            return
        except subprocess.TimeoutExpired:
            left = len(made.missing())
        done, seconds = total - left, time.monotonic() - begun
        ahead = f", {seconds / done * left / 60:.0f} min left" if done else ""
        print(f"{made.plan['name']}: {done} of {total}{ahead}", file=sys.stderr, end=end,
              flush=True)
