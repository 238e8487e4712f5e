#!/usr/bin/python3
"""Shows where the threads of a run spend their time: flame graphs of `logjam run FLAGS...`.

Writes DIRECTORY/on-cpu.svg, the stacks of threads that have a processor, and
DIRECTORY/off-cpu.svg, the stacks of threads that wait or were preempted, each with a panel for
workers, for the log's own threads, and for others. The load belongs to the others. Needs perf
(Debian's linux-perf) and, for the second graph, root.

    scripts/profile.py --workload=tpcc --log=silo --seconds=5 --wal_dir=/var/tmp/logjam --overwrite
"""

import collections
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

from experiments import flame_graph
from experiments.errors import Refused, parser, program, run_main

RATE = 499  # samples a second and processor; no divisor of a timer's rate
SWITCH = "sched:sched_switch"
CLASSES = {"workers": r"worker-", "log threads": r"log-|iou-wrk-", "others": ""}
# A line of `perf script`: thread, id, time, and what happened.
LINE = re.compile(r"^(\S.*?) +(\d+) +(\d+)\.(\d{9}): +(.*)$")
FRAME = re.compile(r"^\s+([0-9a-f]+) (.*)$")
FIRST_OF_KERNEL = 1 << 63


def perf(*words, may_fail=False):
    done = subprocess.run(["perf", *words], capture_output=True, text=True, check=False,
                          errors="replace", env={**os.environ, "LC_ALL": "C"})
    if done.returncode != 0 and not may_fail:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip(" .")]
        said = [line for line in said if not re.match(r"Error:$|event syntax error", line)]
        raise Refused(f"`perf {words[0]}` is not usable here: {said[0] if said else 'it failed'}")
    return done


def event_of_time():
    """Returns the event that samples threads with a processor: cycles if there is a PMU."""
    counted = perf("stat", "-x,", "-e", "cycles", "true", may_fail=True)
    has_pmu = counted.returncode == 0 and re.search(r"^\d+,", counted.stderr, re.M)
    return "cycles" if has_pmu else "cpu-clock"


def refuse_without_perf(events):
    if shutil.which("perf") is None:
        raise Refused("there is no perf; scripts/install_deps.sh tools installs it")
    for event in events:
        perf("record", "-q", "-o", "/dev/null", "-e", event, "--", "true")


def class_of(thread):
    return next(name for name, begin in CLASSES.items() if re.match(begin, thread))


def blocks(text):
    """Yields (thread, id, nanoseconds, what, frames) of each event, the outermost frame first."""
    event, frames = None, []
    for line in text.splitlines():
        if (found := LINE.match(line)) is not None:
            if event:
                yield (*event, frames[::-1])
            thread, number, seconds, fraction, what = found.groups()
            event, frames = (thread, int(number), int(seconds + fraction), what), []
        elif (found := FRAME.match(line)) is not None:
            name = flame_graph.short_name(found[2])
            frames.append(name + flame_graph.KERNEL * (int(found[1], 16) >= FIRST_OF_KERNEL))
    if event:
        yield (*event, frames[::-1])


def stacks_of(text):
    """Returns the stacks with and without a processor, {class: {frames: weight}}, and how many threads
    each class has. A weight is the period of samples, or the nanoseconds until the thread went on."""
    on, off = ({name: collections.Counter() for name in CLASSES} for _ in range(2))
    # A thread has its maker's name first, and is of the class of its last name.
    classes = {number: class_of(thread) for thread, number, *_ in blocks(text)}
    waits = {}  # from a thread's id to its frames, and when it lost the processor
    for _, number, time, what, frames in blocks(text):
        kind = classes[number]
        frames = flame_graph.without_starters(frames or ["[unknown]"])
        if what.startswith("PERF_RECORD_SWITCH"):
            if " IN" in what and number in waits:
                frames, since = waits.pop(number)
                off[kind][frames] += time - since
        elif SWITCH in what:
            if "prev_state=R" in what:
                frames = (*frames, flame_graph.PREEMPTED)
            waits[number] = (frames, time)
        else:
            on[kind][frames] += int(what.split()[0])
    return on, off, collections.Counter(classes.values())


def panels(stacks, threads, unit):
    whole = sum(sum(of.values()) for of in stacks.values())
    return [flame_graph.Panel(
        f"{name}: {threads[name]} thread{'s' * (threads[name] != 1)}, {unit(sum(of.values()))}"
        + (f", {100 * sum(of.values()) / whole:.0f} % of all" if whole else ""), of)
        for name, of in stacks.items()]


def seconds(nanoseconds):
    return f"{nanoseconds / 1e9:.3f} s"


def cycles(count):
    return f"{count / 1e6:.1f} million cycles"


def main():
    options = parser(__doc__)
    options.usage = "profile.py [--logjam=PROGRAM] [--out=DIRECTORY] FLAGS..."
    options.add_argument("--logjam", type=program, default="build/logjam")
    options.add_argument("--out", type=pathlib.Path, default="build/profile")
    given, flags = options.parse_known_args()
    event = event_of_time() if shutil.which("perf") else ""
    refuse_without_perf([event, SWITCH])
    given.out.mkdir(parents=True, exist_ok=True)
    command = [given.logjam, "run", *flags]
    with tempfile.TemporaryDirectory() as directory:
        data = f"{directory}/perf.data"
        run = subprocess.run(
            ["perf", "record", "-q", "-o", data, "-e", f"{event}/freq={RATE}/", "-e", SWITCH,
             "--switch-events", "--call-graph=fp", "--", *command], check=False)
        if run.returncode != 0:
            raise Refused(f"the run ended with status {run.returncode}, so there is no profile")
        text = perf("script", "-i", data, "--ns", "--show-switch-events",
                    "-F", "comm,tid,time,period,event,trace,ip,sym").stdout
    on, off, threads = stacks_of(text)
    run_text = shlex.join(command)
    for name, kind, stacks, unit, title, says in (
            ("on-cpu", "on", on, seconds if event == "cpu-clock" else cycles,
             "Threads with a processor",
             f"sampled by {event}, {RATE} times a second; orange: logjam and libraries"),
            ("off-cpu", "off", off, seconds, "Threads without a processor",
             "from each switch until the thread went on; blue: logjam and libraries; red: preempted, "
             "so the thread could have run")):
        path = given.out / f"{name}.svg"
        path.write_text(flame_graph.draw(title, [run_text, f"{says}; grey: the kernel"],
                                         panels(stacks, threads, unit), kind, unit),
                        encoding="utf-8")
        print(f"{path}: {', '.join(panel.title for panel in panels(stacks, threads, unit))}")


if __name__ == "__main__":
    run_main(main)
