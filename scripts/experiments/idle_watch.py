"""Detects other programs on the cores while a run is measured.

There are three signs of other programs. The first is the time that these programs and the host
(steal) take from the cores, which the kernel counts. The second is load before the run begins. The
third is more involuntary context switches in the run than in the other rounds of the same point.
The kernel's own threads do not count, because they work for the run.
"""

import os
import resource
import statistics
import time

MOST_OF_OTHERS = 0.03  # share of the cores' time
PROBE_SECONDS = 0.2
LONGEST_WAIT_SECONDS = 20


def cores():
    return len(os.sched_getaffinity(0))


def _taken_seconds():
    """Returns the seconds that programs and the host have taken from all cores since boot."""
    with open("/proc/stat", encoding="ascii") as stat:
        user, nice, _, _, _, _, _, steal = map(int, stat.readline().split()[1:9])
    return (user + nice + steal) / os.sysconf("SC_CLK_TCK")


def _own_seconds():
    times = os.times()
    return times.user + times.children_user


class Watch:
    """Counts the time that other programs take from the cores since the Watch was made."""

    def __init__(self):
        self._taken, self._own, self._begun = _taken_seconds(), _own_seconds(), time.monotonic()
        self._switches = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nivcsw

    def others(self):
        seconds = (time.monotonic() - self._begun) * os.cpu_count()
        taken = _taken_seconds() - self._taken - (_own_seconds() - self._own)
        return max(0, taken / seconds)

    def switches(self):
        """Returns the involuntary context switches of ended children, per second."""
        counted = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nivcsw - self._switches
        return counted / (time.monotonic() - self._begun)


def unusual(switches, of_other_rounds):
    """Returns whether a run was interrupted far more often than the other rounds of its point."""
    if len(of_other_rounds) < 2:
        return False
    return switches > 4 * statistics.median(of_other_rounds) + 500


def wait_until_idle(tell):
    """Waits until no other program uses the cores, at most LONGEST_WAIT_SECONDS. Meanwhile reports
    the use by other programs with `tell`."""
    end = time.monotonic() + LONGEST_WAIT_SECONDS
    while time.monotonic() < end:
        watch = Watch()
        time.sleep(PROBE_SECONDS)
        others = watch.others()
        if others <= MOST_OF_OTHERS:
            return
        tell(f"waiting for idle cores: others use {100 * others:.0f} %", passing=True)
