"""Moves, replaces and plants while a run is under way: what takes most time of proof/chaos.py."""

import os
import shutil
import stat
import subprocess
import time

import rounds
from chaos_logs import copy_tree
from chaos_plants import outside_file, shown

# Rows of 4000 bytes, so that the run needs several segments after it has begun.
RUN = ["run", "--workload=ycsb", "--ycsb_records=50", "--ycsb_value_bytes=4000", "--ycsb_ops=2",
       "--ycsb_ratios=read:0.3", "--threads=1", "--warmup=0", "--worker_class=normal",
       "--log_buffer_mb=2", "--log_prealloc_mb=1:1", "--history_mb=8"]


def begin(judge, words):
    return subprocess.Popen([judge.logjam, *words], cwd=judge.place, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def is_whole(judge, directory, history):
    done = judge.command(["recover", f"--wal_dir={directory}", f"--history={history}"])
    return done.status == 0


def move_and_run(judge, place, _):
    """A second run begins where the first one's directory was."""
    os.rename(f"{place}/moving", f"{place}/moved")
    words = [*RUN, "--rate=2500", "--seconds=0.4", "--wal_dir=moving", "--history=new-history-2"]
    judge.hand.note("mv moving moved; logjam", *words)
    return begin(judge, words), words


def move_alone(judge, place, _):
    os.rename(f"{place}/moving", f"{place}/moved")
    judge.hand.note("mv moving moved")


def move_and_make(judge, place, _):
    os.rename(f"{place}/moving", f"{place}/moved")
    os.mkdir(f"{place}/moving")
    judge.hand.note("mv moving moved; mkdir moving")


def move_and_link(judge, place, draw):
    os.rename(f"{place}/moving", f"{place}/moved")
    target = draw.choice(["outside/folder", "outside/other/log0", "moved"])
    os.symlink(target, f"{place}/moving")
    judge.hand.note(f"mv moving moved; ln -s {target} moving")


def move_and_copy(judge, place, _):
    os.rename(f"{place}/moving", f"{place}/moved")
    copy_tree(f"{place}/moved", f"{place}/moving")
    judge.hand.note("mv moving moved; cp -a moved moving")


def plant_links(judge, place, draw):
    """Links and FIFOs appear where the run makes its next files, again and again."""
    names = ["manifest.new", "run-2", "checkpoint-1", "checkpoint-2",
             *(f"stream-0.log.db.{index}" for index in range(2, 9))]
    until = time.monotonic() + 0.3
    while time.monotonic() < until:
        name = f"{place}/moving/{draw.choice(names)}"
        try:
            if draw.random() < 0.8:
                os.symlink(os.path.join(place, outside_file(judge.hand, draw)), name)
            else:
                os.mknod(name, stat.S_IFIFO | 0o600)
        except OSError:
            time.sleep(0.001)
    judge.hand.note("links and FIFOs at", *names)


def remove(judge, place, _):
    shutil.rmtree(f"{place}/moving", ignore_errors=True)
    judge.hand.note("rm -r moving")


KINDS = {move_and_run: 3, move_alone: 1, move_and_make: 1, move_and_link: 1, move_and_copy: 1,
         plant_links: 2, remove: 0.5}


def play(judge, draw):
    """Plays a run, and what happens to its directory meanwhile."""
    place, kind = judge.place, draw.choices(list(KINDS), list(KINDS.values()))[0]
    words = [*RUN, "--rate=2500", f"--seconds={draw.choice([0.4, 0.6])}", "--wal_dir=moving",
             "--history=new-history", f"--log={draw.choice(['centr', 'pwal', 'tide', 'poplar'])}",
             *(["--checkpoint=s:0.05"] if draw.random() < 0.4 or kind is plant_links else [])]
    judge.hand.note("logjam", *map(shown, words), "&")
    judge.moved_by = kind.__name__
    process = begin(judge, words)
    patience = time.monotonic() + judge.patience
    while process.poll() is None and time.monotonic() < patience and not (
            rounds.has_begun(f"{place}/new-history")):
        time.sleep(0.002)
    pause = draw.uniform(0, 0.2)
    time.sleep(pause)
    judge.hand.note(f"sleep {pause:.3f}")
    second = None
    if process.poll() is None and os.path.isdir(f"{place}/moving"):
        second = kind(judge, place, draw)
    judge.end(process, words, judge.patience + 1)
    if second:
        done = judge.end(*second, judge.patience + 1)
        if done.status == 0 and not is_whole(judge, "moving", "new-history-2"):
            judge.find("lost", "the second run has lost what it acknowledged")
    for directory in ("moved", "moving"):
        path = f"{place}/{directory}"
        if kind not in (remove, plant_links) and os.path.isdir(path) and not os.path.islink(path):
            if not is_whole(judge, directory, "new-history"):
                judge.find("lost", f"the first run has lost what it acknowledged ({kind.__name__})")
            break
    judge.find_outside()
