"""Tests the demo's last lines: which schemes differ, or why nothing can be compared."""

import random
import types
from unittest import mock

from fixtures import InADirectory, ROOT, printed, row

import demo
from experiments import definition, store, style

LEFT_OUT = ("a log per worker, NVM", "ablations of tide")


class Demo(InADirectory):
    def options(self, others="0", rounds=8, **speeds):
        """Writes rows of both experiments for schemes with these speeds; returns the options."""
        draw = random.Random(1)
        for name, axis in (("demo-commit", "commit"), ("demo-schemes", "log")):
            (self.directory / name).mkdir(exist_ok=True)
            (self.directory / name / "quick.png").touch()
            store.write_rows(self.directory / name / "quick.csv", [
                {**row(number, speed * draw.lognormvariate(0, 0.03), **{axis: log}), "log": log,
                 "device": "file", "commit_p50_us": "100", "commit_p99_us": "900",
                 "others_pct": others}
                for number in range(1, rounds + 1) for log, speed in speeds.items()])
        return types.SimpleNamespace(out=self.directory, all=False, logjam="x", budget=1)

    def said(self, **rows):
        with mock.patch.object(demo, "figures") as figures:
            said = printed(demo.conclude, self.options(**rows))
        return said.strip().splitlines(), figures.called

    def test_the_last_lines_say_what_differs_or_why_nothing_can_be_said(self):
        for rows, lines, drawn in (
                ({"centr": 100, "eleda": 130, "silo": 130},
                 ["eleda and silo cannot be told apart",
                  "eleda and silo are faster than centr, 1.3 times"], True),
                ({"others": "9", "centr": 100, "eleda": 130},
                 ["32 of 32 rows ran beside other programs: no comparison"], False),
                ({"rounds": 3, "centr": 100, "eleda": 130},
                 ["no ranking by tps: 3 rounds cannot tell the one pair of log apart; it takes 5"],
                 True)):
            with self.subTest(rows):
                self.assertEqual(self.said(**rows), (lines, drawn))

    def test_no_picture_of_earlier_rows_is_left(self):
        options = self.options(centr=1)
        with mock.patch.object(demo, "figures"):
            demo.measure(options)
        self.assertEqual(list(self.directory.rglob("*.png")), [])

    def test_it_has_one_scheme_at_least_of_each_family_that_writes_to_a_disk(self):
        one = definition.find("demo-schemes")
        logs = set(one.sizes["quick"].axes["log"])
        for family, members in style.FAMILIES.items():
            self.assertEqual(bool(logs & set(members)), family not in LEFT_OUT, family)

    def test_its_rounds_suffice_to_tell_its_points_apart(self):
        for name in demo.EXPERIMENTS:
            one = definition.find(name)
            blocks = {}
            for point in one.points("quick"):
                blocks[point.axes.get("workload")] = blocks.get(point.axes.get("workload"), 0) + 1
            logs = len(one.sizes["quick"].axes.get("log", []))
            sizes = [logs] if logs else list(blocks.values())
            pairs = sum(size * (size - 1) // 2 for size in sizes)
            self.assertGreaterEqual(one.sizes["quick"].rounds, demo.groups.least_rounds(pairs), name)

    def test_the_readme_names_the_command_that_makes_its_picture(self):
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        self.assertIn("make demo ALL=1", readme)
        self.assertIn("$(if $(ALL),--all)", (ROOT / "Makefile").read_text(encoding="utf-8"))
        self.assertEqual(definition.find("demo-schemes").grids[0]["axes"]["log"], definition.EVERY)
        self.assertEqual(definition.find("demo-schemes").sizes["full"].axes, {})
