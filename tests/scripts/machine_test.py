"""Tests `make machine` with a fake program: the plan, the time, the file for others, and files from
others."""

import contextlib
import itertools
import os
import pathlib
import re
import sys
import unittest
from unittest import mock

from fixtures import InADirectory, printed

import machine
from experiments import (definition, machine_card, machine_file, machine_page, machine_points,
                         runner, store)
from experiments.errors import Refused
from experiments.machine_points import Shape

FAKE = pathlib.Path(__file__).resolve().parent / "fake_logjam.py"
NAME = "planteduser"  # of the user, and in all texts of the fake machine
NUMA = {"pack:1 core:64 pu:1": Shape(1, 64, 64), "pack:4 numa:1 core:64 pu:1": Shape(4, 256, 256),
        "pack:2 numa:1 core:64 pu:2": Shape(2, 128, 256)}


def content(cores=64, slow=1, **fields):
    """Returns the content of a file of a made-up machine."""
    rows = [{"round": str(number), "axis_load": "TPC-C", "axis_device": "null",
             "axis_threads": str(threads), "axis_log": log, "log": log,
             "per_s": f"{rate * min(threads, most) / slow * (1 + number / 100):.1f}",
             "others_pct": "0.1", "disturbed": "false", "revision": "abc", "binary": "def",
             "machine": f"a CPU, {cores} cores, Linux 6"}
            for number in (1, 2, 3) for threads in Shape(1, cores, cores).threads()
            for log, rate, most in (("centr", 110, 4), ("silo", 100, cores))]
    simulated = [{**row, "machine": f"simulated x, {cores} cores, 1 sockets, model 9, seed 1",
                  "profile": "123", "unsteady": "short" * (row == rows[0])}
                 for row in rows if row["round"] == "1"]
    return {"form": machine_file.FORM, "card": {"processor": "a CPU"}, "said": ["It ended."],
            "profile": "# measured\n", "disk": "", "hand_off": "round,core,other,ns\n1,0,1,80\n",
            "native": store.text_of(rows), "simulated": store.text_of(simulated), **fields}


class Plan(unittest.TestCase):
    def test_threads_are_powers_of_two_a_socket_all_cores_and_all_contexts(self):
        for shape, threads in ((Shape(1, 1, 1), [1]), (Shape(1, 2, 2), [1, 2]),
                               (Shape(2, 56, 112), [1, 2, 4, 8, 16, 28, 32, 56, 64, 112]),
                               (Shape(4, 256, 256), [1, 2, 4, 8, 16, 32, 64, 128, 256])):
            self.assertEqual(shape.threads(), threads)

    def test_the_ends_and_then_the_middles_come_first(self):
        self.assertEqual(machine_points.spread([1, 2, 4, 8, 16]), [1, 16, 4, 2, 8])
        for number in range(1, 40):
            self.assertEqual(sorted(machine_points.spread(range(number))), list(range(number)))

    def points(self, shape, simulated=False):
        one = machine_points.experiment(shape, runner.listed_schemes(str(FAKE)))
        return machine_points.in_order(one.points("full", simulated=simulated), shape)

    def test_main_points_without_a_disk_come_first_and_no_disk_is_simulated(self):
        shape = Shape(2, 4, 4)
        points = self.points(shape)
        kinds = [(machine_points.is_main(point.axes), point.axes.get("device") == "disk")
                 for point in points]
        self.assertEqual(list(dict.fromkeys(kinds)),
                         [(True, False), (True, True), (False, False)])
        self.assertEqual(list(dict.fromkeys(point.axes["threads"] for point in points)),
                         ["1", "4", "2"])
        self.assertEqual({point.axes.get("device") for point in self.points(shape, True)},
                         {None, "null", "nvm"})

    def test_each_scheme_is_on_each_device_that_it_can_use_and_has_a_buffer_for_each_socket(self):
        points = self.points(Shape(2, 4, 4))
        on = {(point.axes["log"], point.axes["device"]) for point in points if "log" in point.axes}
        self.assertEqual(on, {("none", "null"), ("scm", "nvm"),
                              *itertools.product(("centr", "poplar"), ("null", "disk"))})
        places = {(point.axes["log"], point.flags["wal_dir"]) for point in points
                  if point.axes.get("device") == "null"}
        self.assertIn(("poplar", "{memory}/0,{memory}/1"), places)
        self.assertIn(("centr", "{memory}/0"), places)

    def test_the_plan_of_another_machine_is_shown_without_a_run(self):
        with mock.patch.object(sys, "argv", ["machine.py", "--plan", "--topology=x",
                                             f"--logjam={FAKE}"]):
            said = printed(machine.main)
        self.assertIn("2 sockets, 128 cores, 256 contexts; threads: 1 2 4 8 16 32 64 128 256", said)
        self.assertRegex(said, r"main, simulated +TPC-C +null +27 +none centr poplar")


@unittest.skipUnless(os.environ.get("LOGJAM"), "LOGJAM names no binary")
class RealProgram(InADirectory):
    def test_it_describes_other_machines_and_has_the_schemes_of_the_plan(self):
        logjam = runner.logjam_of()
        for topology, shape in NUMA.items():
            self.assertEqual(machine_points.shape_of(logjam, topology), shape)
        names = {scheme["name"] for scheme in runner.listed_schemes(logjam)}
        points = machine_points.experiment(
            Shape(4, 256, 256), runner.listed_schemes(logjam)).points("full")
        self.assertEqual({point.axes.get("log") for point in points} - {None}, names)
        self.assertLessEqual({*machine_points.MAIN_LOGS}, names)

    def test_it_accepts_the_flags_of_all_points(self):
        logjam, shape = runner.logjam_of(), machine_points.shape_of(runner.logjam_of())
        points = machine_points.experiment(shape, runner.listed_schemes(logjam)).points("full")
        with runner.Runner(logjam, self.directory, tries=1) as one:
            refused = {point.name: one.refusal(point) for point in points
                       if point.axes["threads"] == "1"}
        self.assertEqual({name: why for name, why in refused.items() if why}, {})


class Machine:
    """A clock, and a runner whose runs take a second each."""

    def __init__(self):
        self.now, self.ran = 0.0, []

    def run(self, point):
        self.now += 1
        self.ran.append(point)
        return runner.Outcome({"tps": "5", "revision": "abc", "machine": "x", "binary": "y"}, {})


class Time(InADirectory):
    def session(self, clock, end):
        self.enterContext(mock.patch("time.monotonic", lambda: clock.now))
        return machine.Session(str(FAKE), None, Shape(1, 2, 2), self.directory,
                               str(self.directory), end)

    def test_no_run_begins_that_would_end_late_and_the_rest_is_named(self):
        clock = Machine()
        session = self.session(clock, 10.5)
        self.assertFalse(session.measure(1, True, clock))
        self.assertEqual((clock.now, len(clock.ran)), (6, 6))
        self.assertFalse(session.measure(1, False, clock))
        self.assertEqual((clock.now, len(clock.ran)), (10, 10))
        said = "\n".join(session.remarks())
        self.assertIn("10 of 54 points were measured, in 1 to 1 rounds", said)
        self.assertIn("44 points were not measured, because the time was over: load=", said)

    def test_a_round_begins_after_the_main_points_and_narrow_points_get_three_rounds(self):
        clock = Machine()
        session = self.session(clock, 10 ** 9)
        simulated = []
        session.simulate = lambda number, main: simulated.append((number, main, len(clock.ran)))
        with mock.patch.object(runner, "Runner", lambda *_, **__: contextlib.nullcontext(clock)):
            session.play()
        self.assertEqual(simulated, [(1, True, 36), (1, False, 54), (2, False, 108),
                                     (3, False, 162)])
        self.assertEqual(len(clock.ran), 3 * 54)
        mains = [machine_points.is_main(point.axes) for point in clock.ran[:54]]
        self.assertEqual(mains, sorted(mains, reverse=True))
        self.assertIn("no interval is wider than 5 %", "\n".join(session.remarks()))
        again = Machine()
        session = self.session(again, 10 ** 9)
        self.assertTrue(session.measure(3, False, again))
        self.assertEqual(again.ran, [])


class Whole(InADirectory):
    def run_machine(self, *words):
        """Runs one round of everything with the fake program. Returns the printed text."""
        argv = ["machine.py", f"--logjam={FAKE}", f"--simulator={FAKE}", "--budget=1h",
                f"--out={self.directory}/out", f"--wal_dir={self.directory}/wal", *words]
        with mock.patch.object(sys, "argv", argv), mock.patch.object(machine, "MOST_ROUNDS", 1), \
                mock.patch.dict(os.environ, {"USER": NAME, "FAKE_NAME": NAME}):
            return printed(machine.main)

    def test_a_file_has_rows_card_and_page_and_no_name_of_a_user_or_a_path(self):
        self.run_machine()
        path, = pathlib.Path(self.directory, "out").glob("*.html")
        text = path.read_text(encoding="utf-8")
        for hidden in (NAME, "/home", str(self.directory), "upperdir"):
            self.assertNotIn(hidden, text)
        found = machine_file.read(path)
        self.assertEqual(found["card"]["disk: mount options"], "rw,...,noatime")
        self.assertIn("sockets = 1 ", found["profile"])
        self.assertEqual([(row["core"], row["other"], row["ns"]) for row in found["hand_off"]],
                         [("0", "1", "80.5")])
        self.assertEqual(found["disk"][0]["writes_s"], "9000")
        self.assertEqual([len(found[name]) for name in machine_file.ROWS], [48, 39])
        self.assertIn("log=poplar: ... has no room", " ".join(found["said"]))
        self.assertEqual(text.count('src="data:image/png;base64,'), 4)
        with mock.patch.object(machine_page, "picture", lambda _: ""):
            again = self.run_machine(f"--simulator={self.directory}/none")
        self.assertNotIn("measuring", again)
        self.assertIn("not simulated: there is no simulated program", again)
        self.assertEqual([len(rows) for rows in map(machine_file.read(path).get,
                                                    machine_file.ROWS)], [48, 39])

    def test_runs_that_fail_end_only_themselves(self):
        with mock.patch.object(machine_page, "picture", lambda _: ""):
            said = self.run_machine("--simulator=/bin/false")
        self.assertIn("0 of 42 points were simulated.", said)
        self.assertIn("simulated: left out 42: ended with status 1: ", said)
        self.assertIn("48 of 54 points were measured", said)

    @unittest.skipUnless(os.environ.get("LOGJAM_SIM"), "LOGJAM_SIM names no binary")
    def test_a_machine_that_is_too_large_for_the_simulator_is_measured_all_the_same(self):
        known = (definition.CONFIG / "machines" / "numa4x64.toml").read_text(encoding="utf-8")
        for name, value, why in (("cores", 65, "has more than 256 cores"),
                                 ("sockets", 9, "sockets is between 1 and 8, not 9")):
            profile = self.directory / f"{name}.toml"
            profile.write_text(re.sub(rf"^{name} = \d+", f"{name} = {value}", known, flags=re.M),
                               encoding="utf-8")
            with mock.patch.dict(os.environ, {"FAKE_PROFILE": str(profile)}), \
                    mock.patch.object(machine_points, "WAYS", {}), \
                    mock.patch.object(machine_page, "picture", lambda _: ""):
                said = self.run_machine(f"--simulator={os.environ['LOGJAM_SIM']}",
                                        f"--out={self.directory}/{name}")
            self.assertRegex(said, "28 of 34 points were measured(?s:.*)0 of 22 points were simulated"
                                   f"(?s:.*)left out 22: .*{why}(?s:.*)written: ")

    def test_a_time_that_the_profile_takes_up_leaves_no_file_and_the_command_says_so(self):
        said = self.run_machine("--budget=0.001s")
        self.assertIn("0 of 54 points were measured.", said)
        self.assertEqual(list(pathlib.Path(self.directory, "out").glob("*.html")), [])


class Card(InADirectory):
    def card(self, **texts):
        """Returns the card of a made-up kernel with these files; `__` stands for a slash."""
        root = self.directory / str(len(list(self.directory.iterdir())))
        for path, text in {"proc__meminfo": "MemTotal: 33554432 kB", **texts}.items():
            path = root / path.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n", encoding="utf-8")
        with mock.patch.dict(os.environ, {"USER": NAME}):
            return machine_card.read(Shape(1, 2, 2), root)

    def test_the_card_has_the_innermost_limits_and_hides_names(self):
        limits = [f"cgroup's {what} limit" for what in ("processor", "memory")]
        cpu, groups = "sys__devices__system__cpu", "sys__fs__cgroup"
        card = self.card(proc__self__cgroup="0::/a/b", **{
            f"{groups}__a__b__memory.max": "max", f"{groups}__a__memory.max": "1000",
            f"{groups}__a__b__cpu.max": "200000 100000", f"{cpu}__smt__control": "off",
            f"{cpu}__cpu0__cpufreq__scaling_governor": NAME})
        self.assertEqual([card[name] for name in limits], ["200000 100000", "1000"])
        self.assertEqual((card["memory"], card["SMT"], card["frequency governor"]),
                         ("32 GiB", "off", machine_card.HIDDEN))
        self.assertNotIn("frequency boost", card)
        card = self.card(proc__self__cgroup="4:memory:/x\n1:cpu:/", **{
            f"{groups}__memory__x__memory.limit_in_bytes": "9223372036854771712",
            f"{groups}__cpu__cpu.cfs_quota_us": "150000"})
        self.assertEqual([card.get(name) for name in limits], ["150000", None])


class FromOthers(InADirectory):
    def put(self, name="x.html", **fields):
        """Writes a made-up file whose cores, speed or fields are these; returns its path."""
        path = self.directory / name
        path.write_text(machine_file.page("x", [machine_file.data_part(content(**fields))], "x"),
                        encoding="utf-8")
        return path

    def test_garbage_is_refused_with_one_sentence(self):
        row = machine_file.with_rows(content())["native"][0]
        data = '<script type="application/json" id="data">{}</script>'
        for text in ("", "\0", "<script>", data.format("{"), data.format("[" * 100_000),
                     data.format("9" * 5000), data.format("[]"), data.format('{"form": 1}')):
            with self.subTest(text=text[:60]), self.assertRaisesRegex(Refused, "is no file of"):
                (self.directory / "x.html").write_text(text, encoding="utf-8")
                machine_file.read(self.directory / "x.html")
        for fields in ({"form": "2"}, {"more": ""}, {"card": []}, {"card": {"processor": 1}},
                       {"card": {"processor": "a\nb"}}, {"card": {"a": "b"}}, {"said": "x"},
                       {"said": ["x" * 501]}, {"profile": 1}, {"profile": "x" * 30_001},
                       {"profile": "\x1b[0m"}, {"native": ""}, {"native": []}, {"disk": None},
                       {"hand_off": "round,core,other,ns\n1,0,1,nan\n"},
                       {"hand_off": "round,core,other,path\n1,0,1,/etc\n"},
                       *({"native": store.text_of([{**row, **wrong}])} for wrong in (
                           {"axis_x": "1"}, {"path": "/etc"}, {"axis_log": "../x"}, {"axis_log": ""},
                           {"axis_threads": "1e9"}, {"axis_threads": "0"}, {"axis_load": ""},
                           {"per_s": ""}, {"per_s": "-1"}, {"per_s": "1e300"}, {"per_s": "x"},
                           {"given": "x" * 2001}, {"unsteady": "\x1b[0m"})),
                       {"native": store.text_of([row, row])},
                       {"native": store.text_of([row, {**row, "round": "2", "binary": "x"}])}):
            with self.subTest(fields=str(fields)[:200]), \
                    self.assertRaisesRegex(Refused, "is no file of `make machine`: |is damaged"):
                machine_file.read(self.put(**fields))
        machine_file.read(self.put())

    def test_the_command_ends_with_the_sentence_and_writes_nothing(self):
        page = self.directory / "page.html"
        done = self.run_figures("machines", self.put(native=""), f"--out={page}", check=False)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn("x.html is no file of `make machine`: it has no native row", done.stderr)
        self.assertFalse(page.exists())

    def test_markup_in_a_file_stays_text(self):
        evil = "</script><script>alert(1)</script><img src=x onerror=y>"
        page = self.directory / "page.html"
        path = self.put(card={"processor": evil, evil: evil}, said=[evil])
        self.run_figures("machines", path, f"--out={page}")
        text = page.read_text(encoding="utf-8")
        self.assertNotIn("<script>", text)
        self.assertEqual(text.count("<img"), 1)
        own = machine_page.own_page(content(said=[evil]), evil)
        self.assertEqual(own.count("<script"), 1)

    def test_machines_of_64_and_256_cores_are_side_by_side(self):
        a, b = self.put("a.html"), self.put("b.html", cores=256, slow=2)
        page = self.directory / "page.html"
        said = self.run_figures("machines", a, b, f"--out={page}").stdout
        self.assertRegex(said, r"(?m)^TPC-C +null +64 +silo +6,528 +6,464 +3,264 +3,232$")
        self.assertRegex(said, r"(?m)^TPC-C +null +256 +silo +– +– +13,056? ")
        self.assertIn("A and B: 0 of 14 points are within 20 %; pairs of alternatives at equal "
                      "threads that rank alike, by their ratio: 1.05 to 1.2 times: 3 of 3; 1.5 to 2 "
                      "times: 1 of 1; 2 and more times: 3 of 3.", said)
        self.assertIn("A: Simulated and measured: 13 of 13 points are within 20 %", said)
        self.assertIn("A: Simulated: 1 of 14 rows is unsteady", said)
        self.assertIn("It ended.", page.read_text(encoding="utf-8"))
        busy = content(native=content()["native"].replace(",0.1,false,", ",50,true,"))
        said = self.run_figures("machines", a, self.put("c.html", **busy), f"--out={page}").stdout
        self.assertIn("A and B: no comparison, because others used the cores.", said)


