"""Tests scripts/profile.py: how it reads perf's events, the SVG, and its refusals."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree

from fixtures import ROOT, InADirectory

from experiments import flame_graph
from experiments.errors import Refused

sys.path.insert(0, str(ROOT / "scripts"))
import profile  # noqa: E402 (of scripts/, not of Python's library)

PROFILE = ROOT / "scripts" / "profile.py"
# The output of `perf script`. A thread that still has its maker's name loses its processor by
# sleeping, and goes on 2 us later. Then it has its own name, is sampled, and is preempted for 3 us.
EVENTS = """\
logjam 7     1.000001000:          1  sched:sched_switch: prev_comm=logjam prev_pid=7 prev_state=S ==>
\tffffffff82265ec8 schedule
\t          101829 syscall
\t          1569d2 logjam::Log<int>::wait
\t           d44a3 [unknown]

logjam 7     1.000001100: PERF_RECORD_SWITCH OUT        
logjam 7     1.000003000: PERF_RECORD_SWITCH IN         
worker-0 7     1.000004000:    2004008 cpu-clock/freq=499/: 
\t          1569d2 logjam::(anonymous namespace)::work
\t           d44a3 std::thread::_State_impl<std::thread>::_M_run

worker-0 7     1.000005000:          1  sched:sched_switch: prev_comm=worker-0 prev_pid=7 prev_state=R+ ==>
\t          1569d2 logjam::work

worker-0 7     1.000008000: PERF_RECORD_SWITCH IN         
log-0 8     1.000009000:    1000000 cpu-clock/freq=499/: 
main 9     1.000009000:     500000 cpu-clock/freq=499/: 
\t              12 main
log-0 8     1.000009500:          1  sched:sched_switch: prev_comm=log-0 prev_pid=8 prev_state=S ==>
\t          1569d2 logjam::turn
"""


class Profile(InADirectory):
    def test_stacks_belong_to_the_class_of_the_threads_last_name(self):
        on, off, threads = profile.stacks_of(EVENTS)
        self.assertEqual(on, {"workers": {("work",): 2004008},
                              "log threads": {("[unknown]",): 1000000},
                              "others": {("main",): 500000}})
        self.assertEqual(threads, {"workers": 1, "log threads": 1, "others": 1})

    def test_a_wait_lasts_until_the_thread_goes_on_and_a_preempted_thread_is_told_apart(self):
        _, off, _ = profile.stacks_of(EVENTS)
        self.assertEqual(off["workers"], {("Log::wait", "syscall", "schedule [kernel]"): 2000,
                                          ("work", "preempted"): 3000})
        self.assertEqual(off["log threads"], {})  # its wait has no end

    def test_names_are_short_and_operators_stay(self):
        for name, short in {"logjam::A<B<int>, 2>::f": "A::f", "std::operator< ": "std::operator< ",
                            "tbb::run<C>(D)": "tbb::run(D)"}.items():
            self.assertEqual(flame_graph.short_name(name), short)

    def test_a_frame_is_as_wide_as_its_share_and_above_its_caller(self):
        panel = flame_graph.Panel("workers", {("run", "a<b>"): 3, ("run", "c"): 1})
        svg = ElementTree.fromstring(flame_graph.draw("T", ["said & done"], [panel], "on", str))
        space = "{http://www.w3.org/2000/svg}"
        frames = {}
        for group in svg.iter(f"{space}g"):
            at = group.find(f"{space}rect").attrib
            name = group.find(f"{space}title").text.split(":")[0]
            frames[name] = {key: float(at[key]) for key in ("x", "y", "width")}
            self.assertLess(frames[name]["y"], float(svg.get("height")))
        self.assertAlmostEqual(frames["a<b>"]["width"] / frames["c"]["width"], 3, delta=0.02)
        self.assertEqual(frames["a<b>"]["x"], frames["run"]["x"])
        self.assertEqual(frames["a<b>"]["y"] + flame_graph.ROW, frames["run"]["y"])
        self.assertIn("said & done", "".join(svg.itertext()))

    def test_a_panel_without_stacks_has_its_title(self):
        self.assertIn("nobody", flame_graph.draw("T", [], [flame_graph.Panel("nobody", {})], "off", str))

    def said(self, *words, path=os.environ["PATH"]):
        return subprocess.run([sys.executable, PROFILE, f"--out={self.directory / 'out'}", *words],
                              capture_output=True, text=True, check=False, cwd=self.directory,
                              env={**os.environ, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"})

    def stand_in(self, script):
        """Makes a program `perf`. Returns a PATH that has no other."""
        folder = self.directory / "bin"
        folder.mkdir()
        (folder / "perf").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (folder / "perf").chmod(0o755)
        return str(folder)

    def refused(self, sentence, path):
        done = self.said("--logjam=/bin/true", path=path)
        self.assertEqual((done.returncode, done.stderr), (2, f"profile.py: {sentence}\n"))
        self.assertFalse((self.directory / "out").exists())

    def test_without_perf_one_sentence_says_so(self):
        self.refused("there is no perf; scripts/install_deps.sh tools installs it",
                     str(self.directory))

    def test_a_perf_that_is_forbidden_is_named_in_one_sentence(self):
        path = self.stand_in('echo "Error:" >&2; echo "Access to tracing is limited." >&2; exit 255')
        self.refused("`perf record` is not usable here: Access to tracing is limited.", path)

    @unittest.skipUnless(os.environ.get("LOGJAM"), "LOGJAM names no binary")
    def test_a_run_has_graphs_of_workers_and_log_threads(self):
        try:
            if shutil.which("perf") is None:
                raise Refused("there is no perf")
            profile.refuse_without_perf(["cpu-clock", profile.SWITCH])
        except Refused as error:
            self.skipTest(str(error))
        done = self.said(f"--logjam={pathlib.Path(os.environ['LOGJAM']).resolve()}",
                         "--workload=ycsb", "--ycsb_records=1000", "--threads=2", "--seconds=0.3",
                         "--warmup=0", "--log=centr", "--device=sim:500", "--commit=sync",
                         f"--wal_dir={self.directory}/wal")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for name in ("on-cpu", "off-cpu"):
            svg = (self.directory / "out" / f"{name}.svg").read_text(encoding="utf-8")
            ElementTree.fromstring(svg)
            self.assertRegex(svg, "workers: 2 threads")
            self.assertRegex(svg, r"log threads: \d+ threads?")
            self.assertNotRegex(svg, r'(href|src)="|@import|<script')
        self.assertTrue(re.search("Worker::run: [0-9.]+ s", svg), "a worker waits")

    @unittest.skipUnless(os.environ.get("LOGJAM"), "LOGJAM names no binary")
    def test_a_run_that_is_refused_has_no_profile(self):
        path = self.stand_in('case $1 in record) for last; do :; done; [ "$last" = true ];; esac')
        done = self.said(f"--logjam={pathlib.Path(os.environ['LOGJAM']).resolve()}", "--log=nolog",
                         path=path)
        self.assertEqual(done.returncode, 2)
        self.assertIn("the run ended with status 1, so there is no profile", done.stderr)
        self.assertFalse((self.directory / "out" / "on-cpu.svg").exists())
