"""Tests scripts/long_waits.py: how it divides the time between two writes, and its refusals."""

import subprocess
import sys
import unittest

from fixtures import ROOT, InADirectory

sys.path.insert(0, str(ROOT / "scripts"))
import long_waits  # noqa: E402

WAITS = ROOT / "scripts" / "long_waits.py"
# The output of `perf script`. A write ends at 1 ms. Then the log sleeps for 2 ms; worker-0 has no
# processor in the first 1.5 ms of them. The log waits 1 ms for a processor, works for 0.1 ms, and
# writes. The disk has the data for 0.4 ms; a kernel worker waits 0.2 ms for a processor before it
# flushes the disk's cache in 0.3 ms. The file's grower writes, too, and is not the log.
EVENTS = """\
 log-sdl   8 [000]     1.000000000: block:block_bio_queue: 254,0 WS 800 + 8 [log-sdl]
 log-sdl   8 [000]     1.000100000: block:block_rq_issue: 254,0 WS 4096 () 800 + 8 0x2,0,4 [log-sdl]
 log-sdl   8 [000]     1.000900000: sched:sched_switch: prev_comm=log-sdl prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=other next_pid=5 next_prio=120
 worker-0  7 [001]     1.000950000: sched:sched_switch: prev_comm=worker-0 prev_pid=7 prev_prio=120 prev_state=R+ ==> next_comm=other next_pid=6 next_prio=120
 other     5 [000]     1.001000000: block:block_rq_complete: 254,0 WS () 800 + 8 0x2,0,4 [0]
 log-grower 9 [000]    1.001500000: block:block_bio_queue: 254,0 WS 1600 + 8 [log-grower]
 log-grower 9 [000]    1.001500000: block:block_rq_issue: 254,0 WS 4096 () 1600 + 8 0x2,0,4 [log-grower]
 other     5 [000]     1.001700000: block:block_rq_complete: 254,0 WS () 1600 + 8 0x2,0,4 [0]
 other     6 [001]     1.002500000: sched:sched_switch: prev_comm=other prev_pid=6 prev_prio=120 prev_state=S ==> next_comm=worker-0 next_pid=7 next_prio=120
 worker-0  7 [001]     1.003000000: sched:sched_waking: comm=log-sdl pid=8 prio=120 target_cpu=000
 other     5 [000]     1.004000000: sched:sched_switch: prev_comm=other prev_pid=5 prev_prio=120 prev_state=R ==> next_comm=log-sdl next_pid=8 next_prio=120
 log-sdl   8 [000]     1.004100000: block:block_bio_queue: 254,0 WS 900 + 2000 [log-sdl]
 log-sdl   8 [000]     1.004100000: block:block_rq_issue: 254,0 WS 4096 () 900 + 2000 0x2,0,4 [log-sdl]
 other     5 [000]     1.004500000: block:block_rq_complete: 254,0 WS () 900 + 2000 0x2,0,4 [0]
 log-sdl   8 [000]     1.004500000: block:block_bio_queue: 254,0 FWS 0 + 0 [log-sdl]
 kworker/0:1H 4 [000]  1.004700000: block:block_rq_issue: 254,0 FF 0 () 0 + 0 0x0,0,0 [kworker/0:1H]
 other     5 [000]     1.005000000: block:block_rq_complete: 254,0 FF () 18446744073709551615 + 0 0x0,0,0 [0]
 log-sdl   8 [000]     1.005100000: block:block_bio_queue: 254,0 WS 2900 + 8 [log-sdl]
 log-sdl   8 [000]     1.005100000: block:block_rq_issue: 254,0 WS 4096 () 2900 + 8 0x2,0,4 [log-sdl]
 log-sdl   8 [000]     1.005200000: block:block_rq_complete: 254,0 WS () 2900 + 8 0x2,0,4 [0]
"""


class LongWaits(InADirectory):
    def test_the_time_between_two_writes_is_divided_by_what_happened(self):
        trace = long_waits.Trace(EVENTS)
        gaps, (first, second) = long_waits.longest(trace, 2)
        self.assertEqual([(begin, write.ended) for begin, write in gaps],
                         [(1001000000, 1005000000), (1005000000, 1005200000)])
        self.assertEqual((first, second), tuple(gaps))
        self.assertEqual(long_waits.divided(trace, *first), {
            "disk": 700000, "kernel": 200000, "waits for a processor": 1000000,
            "sleeps, a worker waits": 1500000, "sleeps": 500000, "works": 100000})
        self.assertEqual(long_waits.divided(trace, *second), {
            "disk": 100000, "kernel": 0, "waits for a processor": 0, "sleeps, a worker waits": 0,
            "sleeps": 0, "works": 100000})

    def test_a_time_in_which_workers_filled_nothing_shows(self):
        trace = long_waits.Trace(EVENTS)
        _, (first, second) = long_waits.longest(trace, 2)
        self.assertAlmostEqual(long_waits.filled(trace, *first), 2000 / (2008 / 4.2 * 4))
        self.assertLess(long_waits.filled(trace, *second), long_waits.LITTLE)

    def test_it_refuses_a_machine_without_perf(self):
        fake = self.directory / "logjam"
        fake.write_text("#!/bin/sh\n", encoding="utf-8")
        fake.chmod(0o755)
        done = subprocess.run([sys.executable, WAITS, f"--logjam={fake}"], capture_output=True,
                              text=True, check=False, env={"PATH": str(self.directory)})
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, "long_waits.py: there is no perf; scripts/install_deps.sh tools "
                                      "installs it\n")


if __name__ == "__main__":
    unittest.main()
