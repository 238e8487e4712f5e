#!/usr/bin/python3
"""Names the longest waits of a log: `logjam run FLAGS...`, traced by the kernel.

A commit waits until a write that contains its record has ended. So the tail of commit latency
begins with the longest times between the ends of two writes. The script takes the longest ones and
divides each by what happened: the disk had the write; the kernel had it, but not the disk (a
kernel worker waited for a processor); the log's thread waited for a processor; it slept, while a
worker waited for a processor or while all workers had one; it had a processor. `filled` is the log
of this time over the log of a mean time of this length: if workers filled nothing, the host had
stopped the machine. Needs perf (Debian's linux-perf) and root, and traces the whole machine.

    scripts/long_waits.py --workload=tpcc --log=tide --seconds=1 --wal_dir=/var/tmp/logjam --overwrite
"""

import collections
import itertools
import re
import statistics
import subprocess
import tempfile

import profile as recorder
from experiments import text_tables
from experiments.errors import Refused, parser, program, run_main, whole

EVENTS = ("sched:sched_switch", "sched:sched_waking", "block:block_bio_queue",
          "block:block_rq_issue", "block:block_rq_complete")
LINE = re.compile(r"^ *(\S.*?) +(\d+) +\[\d+\] +(\d+)\.(\d{9}): +\w+:(\w+): +(.*)$")
SWITCH = re.compile(r"prev_pid=(\d+) .*prev_state=(\S+) ==> next_comm=(.*) next_pid=(\d+)")
WAKING = re.compile(r"\bpid=(\d+)")
# A bio has no bytes in parentheses. A flush of the disk's cache (F) is at no sector; it is a request
# of its own, or its request completes as one.
REQUEST = re.compile(r"(\d+,\d+) (F?W?\w*) (?:\d+ )?(?:\(\) )?(\d+) \+ (\d+)")
WRITER, WORKER = re.compile(r"(log-(?!grower)|worker-|iou-)"), re.compile(r"worker-")
LOGGER = re.compile(r"log-(?!grower)")
KINDS = ("disk", "kernel", "waits for a processor", "sleeps, a worker waits", "sleeps", "works")
HOST, LITTLE = "host", 0.25  # what stopped if workers filled no more than this share


class Write:
    """A write of the log, in nanoseconds: when a thread handed it to the kernel, and when it ended,
    with the flush of the disk's cache that came after it; for how long the disk had it; sectors."""

    def __init__(self, queued, sectors):
        self.queued, self.sectors, self.ended, self.disk = queued, sectors, None, 0


class Trace:
    """What happened, in nanoseconds. `states` maps a thread to its (time, state), where a state is
    "works", "waits" for a processor or "sleeps"."""

    def __init__(self, text):
        self.names, self.states, self.writes = {}, collections.defaultdict(list), []
        self.queued, self.issued = {}, {}  # by device and sector, "F" for a flush
        for thread, number, seconds, fraction, event, what in (
                found.groups() for line in text.splitlines() if (found := LINE.match(line))):
            time = int(seconds + fraction)
            self.names.setdefault(int(number), thread)
            if event == "sched_switch" and (found := SWITCH.search(what)):
                before, state, name, after = found.groups()
                self.states[int(before)].append((time, "waits" if state[0] == "R" else "sleeps"))
                self.states[int(after)].append((time, "works"))
                self.names[int(after)] = name
            elif event == "sched_waking" and (found := WAKING.search(what)):
                states = self.states[int(found[1])]
                if not states or states[-1][1] == "sleeps":
                    states.append((time, "waits"))
            elif found := REQUEST.search(what):
                self.request(time, thread, event, found)
        self.writes = [write for write in self.writes if write.ended]
        self.writes.sort(key=lambda write: write.ended)

    def request(self, time, thread, event, found):
        device, kind, sector, sectors = found.groups()
        if "W" not in kind and not kind.startswith("F"):
            return
        flush = kind.startswith("F") and (sectors == "0" or event != "block_bio_queue")
        place = (device, "F" if flush else sector)
        if event == "block_bio_queue" and WRITER.match(thread):
            if not flush:
                self.writes.append(Write(time, int(sectors)))
            if self.writes:
                self.queued[place] = self.writes[-1]
        elif event == "block_rq_issue" and place in self.queued:
            self.issued[place] = time
        elif event == "block_rq_complete" and place in self.issued:
            write = self.queued.pop(place)
            write.disk += time - self.issued.pop(place)
            write.ended = max(write.ended or 0, time)

    def threads(self, pattern):
        return [number for number, name in self.names.items() if pattern.match(name)]

    def times(self, thread, begin, end):
        """Returns {state: intervals} of `thread` within the time from `begin` to `end`."""
        of = collections.defaultdict(list)
        known = [*self.states[thread], (end, "")]
        for (since, state), (until, _) in itertools.pairwise(known):
            if max(since, begin) < min(until, end):
                of[state].append((max(since, begin), min(until, end)))
        return of


def length(intervals):
    return sum(end - begin for begin, end in intervals)


def overlap(some, others):
    return sum(max(0, min(a[1], b[1]) - max(a[0], b[0])) for a in some for b in others)


def divided(trace, begin, write):
    """Returns {kind: nanoseconds} of the time from `begin` to the end of `write`."""
    queued = max(begin, write.queued)
    of = dict.fromkeys(KINDS, 0)
    of["disk"] = min(write.disk, write.ended - queued)
    of["kernel"] = write.ended - queued - of["disk"]
    loggers = trace.threads(LOGGER)
    if loggers:  # the thread that worked last before the write
        logger = max(loggers, key=lambda one: max(
            (since for since, state in trace.states[one] if state == "works" and since <= queued),
            default=0))
        times = trace.times(logger, begin, queued)
        of["works"], of["waits for a processor"] = length(times["works"]), length(times["waits"])
        worst = max((overlap(times["sleeps"], trace.times(worker, begin, queued)["waits"])
                     for worker in trace.threads(WORKER)), default=0)
        of["sleeps, a worker waits"] = worst
        of["sleeps"] = length(times["sleeps"]) - worst
    return of


def filled(trace, begin, write):
    """Returns the sectors of `write` over those of a mean time as long as from `begin` to its end."""
    writes = trace.writes
    rate = sum(one.sectors for one in writes[1:]) / (writes[-1].ended - writes[0].ended)
    return write.sectors / (rate * (write.ended - begin))


def longest(trace, count):
    """Returns the `count` longest times between the ends of two writes: (begin, write)."""
    gaps = [(before.ended, write) for before, write in itertools.pairwise(trace.writes)]
    return gaps, sorted(gaps, key=lambda gap: gap[0] - gap[1].ended)[:count]


def main():
    options = parser(__doc__)
    options.usage = "long_waits.py [--logjam=PROGRAM] [--count=N] FLAGS..."
    options.add_argument("--logjam", type=program, default="build/logjam")
    options.add_argument("--count", type=whole, default=10, help="waits to name")
    given, flags = options.parse_known_args()
    recorder.refuse_without_perf(EVENTS)
    with tempfile.TemporaryDirectory() as directory:
        data = f"{directory}/perf.data"
        events = [word for event in EVENTS for word in ("-e", event)]
        run = subprocess.run(["perf", "record", "-q", "-a", "-o", data, *events, "--", given.logjam,
                              "run", *flags], check=False)
        if run.returncode != 0:
            raise Refused(f"the run ended with status {run.returncode}, so there is no trace")
        trace = Trace(recorder.perf("script", "-i", data, "--ns", "-F",
                                    "comm,tid,cpu,time,event,trace").stdout)
    gaps, chosen = longest(trace, given.count)
    if not gaps:
        raise Refused("no thread of the log wrote to a block device twice, so there are no waits; "
                      "--device=file and a --wal_dir on a disk do")
    times = sorted(write.ended - begin for begin, write in gaps)
    print(f"{len(times)} times between the ends of two writes: median {statistics.median(times) / 1e6:.2f} "
          f"ms, p99 {times[int(0.99 * (len(times) - 1))] / 1e6:.2f} ms, longest {times[-1] / 1e6:.2f} ms")
    rows = []
    for begin, write in chosen:
        of, share = divided(trace, begin, write), filled(trace, begin, write)
        largest = max(of, key=of.get)
        rows.append([*(round(time / 1e6, 2) for time in (write.ended - begin, *of.values())),
                     round(share, 2), HOST if share < LITTLE and largest != "disk" else largest])
    text_tables.print_lines(["ms", *KINDS, "filled", "most"], rows)


if __name__ == "__main__":
    run_main(main)
