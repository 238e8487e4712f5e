"""Tests that the Findings of checks say who judges them, and that their counts add up."""

from unittest import mock

import re

import synthetic
from fixtures import ROOT, InADirectory
from matplotlib.colors import to_rgb
from PIL import Image

from experiments import (definition, dot_plot, dots, findings, pace_predictions, papers,
                         report_data, style, verdicts, verdicts_page)

SIMULATED = "simulated Intel Xeon, 64 cores"


class OneFinding(InADirectory):
    def found(self, *names, **columns):
        one = synthetic.experiment(synthetic.LINES + synthetic.NUMBERS)
        for name in names:
            synthetic.put(self.directory, one, name, **columns, **(
                {"machine": SIMULATED} if "-" in name else {}))
        return findings.of_entries(synthetic.collected(self.directory, one)[0])

    def test_says_who_judges_it_and_by_which_numbers(self):
        for names, judges, ours in (
                ((), 4 * [""], 4 * [None]),
                (("quick",), ["native", "", "native", "device"], [None, None, 2.25, 2]),
                (("quick-xeon",), ["native", "simulated", "native", "device"],
                 [None, None, 2.25, 2])):
            with self.subTest(names=names):
                found = self.found(*names)  # the rows of the earlier names are still there
                self.assertEqual([one.judge for one in found], judges)
                self.assertEqual([one.ours for one in found], ours)
        self.assertEqual([one.published for one in found], [None, None, 2, 2])

    def test_unsteady_rows_judge_nothing_natively_and_simulated(self):
        for name in ("quick", "quick-xeon"):
            (self.directory / "p5").mkdir(exist_ok=True)
            for old in (self.directory / "p5").iterdir():
                old.unlink()
            found = self.found(name, unsteady="the second half is slower")
            self.assertEqual({one.verdict for one in found} - {verdicts.OPEN}, {verdicts.MISSING})


class PacePredictions(InADirectory):
    def line(self, *names):
        one = synthetic.experiment(synthetic.LINES + synthetic.NUMBERS)
        for name in names:  # without: 1000 everywhere, so Poplar is no faster
            columns = {} if name.endswith("-paced") else {"tps": "1000"}
            synthetic.put(self.directory, one, name, machine=SIMULATED, **columns)
        columns, lines = pace_predictions.table_of(synthetic.collected(self.directory, one)[0])
        self.assertEqual(lines[1:], [["all", "", "", *lines[0][3:]]] if lines else [])
        return dict(zip(columns, lines[0])) if lines else None

    def test_the_checks_are_counted_with_and_without_the_pace(self):
        self.assertIsNone(self.line("quick", "quick-xeon"))
        found = self.line("quick-xeon", "quick-xeon-paced")
        self.assertEqual((found["paper"], found["pace"], found["results"]), ("Poplar", "7 us", "P5"))
        self.assertEqual(found["predictions"], "3")  # not the check of a device's formula
        self.assertEqual((found["agrees"], found["not tested"]), ("3", "0"))
        self.assertEqual(found["without the pace: agree"], "2")

    def test_the_number_on_which_the_pace_was_found_is_no_prediction(self):
        with mock.patch.object(definition, "paces", lambda: {
                "poplar": {"work_us": 7, "found_on": "a number"}}):
            self.assertEqual(self.line("quick-xeon", "quick-xeon-paced")["predictions"], "2")
        says = {(findings.paper_of(one).lower(), check["says"])
                for one in definition.load_all().values() for check in one.checks if not one.own}
        for paper, pace in definition.paces().items():
            self.assertTrue("found_on" not in pace or (paper, pace["found_on"]) in says, paper)

    def test_a_simulated_run_of_another_machine_is_not_the_one_without_the_pace(self):
        self.assertIsNone(self.line("quick-niagara2", "quick-xeon-paced"))


class Dots(InADirectory):
    def placed(self, toml=synthetic.LINES + synthetic.NUMBERS, **columns):
        one = synthetic.experiment(toml)
        for name, machine in (("quick", synthetic.MACHINE), ("quick-xeon", SIMULATED)):
            synthetic.put(self.directory, one, name, machine=machine, **columns)
        entries, _ = synthetic.collected(self.directory, one)
        return entries, *dots.placed(entries)

    def test_a_dot_is_ours_over_published_of_a_judged_check_with_a_number(self):
        entries, rows, found = self.placed()
        self.assertEqual(rows, [{"id": "P5", "paper": "Poplar", "title": "Throughput against devices"}])
        self.assertEqual([(dot["ratio"], dot["judge"], dot["derived"]) for dot in found],
                         [(1, "device", False), (1.125, "native", True)])
        self.assertEqual([dot["ringed"] for dot in found], [False, False])
        _, _, found = self.placed(synthetic.LINES + synthetic.NUMBERS.replace(
            "published = 2\nderived", 'published = 2\nband = [4, 5]\nbecause = "x"\nderived'))
        self.assertEqual([dot["ringed"] for dot in found], [False, True])
        entries, rows, found = self.placed()
        self.assertEqual([dot["says"] for dot in found],
                         [one.sentence for one in reversed(entries[0].findings[2:])])
        _, _, found = self.placed(synthetic.LINES + synthetic.NUMBERS.replace(
            "published = 2\nderived", "published = 2\nneeds_cores = 64\nderived"))
        self.assertEqual([dot["judge"] for dot in found], ["device", "simulated"])
        self.assertEqual(self.placed(unsteady="the second half is slower")[1:], ([], []))

    def test_no_two_dots_of_a_row_lie_over_each_other(self):
        _, _, found = self.placed(synthetic.LINES + 3 * synthetic.NUMBERS)
        self.assertEqual(len({(dot["ratio"], dot["lane"]) for dot in found}), 6)

    def test_judges_differ_in_their_markers_and_as_greys(self):
        colours, markers, _ = zip(*dots.JUDGES.values())
        self.assertEqual(len(set(markers)), 3)
        greys = sorted(sum(to_rgb(style.COLOURS[colour])) for colour in colours)
        self.assertGreater(min(b - a for a, b in zip(greys, greys[1:])), 0.3)

    def test_the_picture_names_the_dots_of_which_it_is(self):
        entries, rows, found = self.placed()
        path = self.directory / "verdicts.png"
        dot_plot.draw(entries, path)
        with Image.open(path) as picture:
            self.assertEqual(picture.text["dots"], dots.digest(entries))
        _, axes = dot_plot.plot(rows, found)
        band = axes.patches[0].get_extents().transformed(axes.transData.inverted())
        self.assertEqual((round(band.x0, 6), round(band.x1, 6)), dots.BAND)
        self.assertEqual([(line.get_xdata()[0], line.get_marker(), line.get_mfc())
                          for line in axes.lines if line.get_marker() != "None"],
                         [(1, "s", style.COLOURS["black"]), (1.125, "o", "white")])
        again, _, _ = self.placed(tps="1000")
        self.assertNotEqual(dots.digest(again), dots.digest(entries))


class Screen(InADirectory):
    def test_counts_every_check_once(self):
        entries = report_data.collect(ROOT / "results")
        found = findings.of_entries(entries)
        self.assertEqual(len(found), sum(len(one.checks) for one in definition.load_all().values()
                                         if not one.own))
        number = findings.counts(found)
        self.assertEqual(sum(number[word] for word in verdicts.EVERY), len(found))
        self.assertEqual(number["native"] + number["simulated"],
                         sum(number[word] for word in verdicts.OWN))
        page = verdicts_page.page(entries, report_data.summary(entries))
        self.assertEqual(page, (ROOT / "results" / "VERDICTS.md").read_text(encoding="utf-8"),
                         "scripts/figures.py verdicts writes it anew")
        self.assertIn(f"\n{verdicts_page.appendix(entries)}\n",
                      (ROOT / "docs" / "REPRODUCING.md").read_text(encoding="utf-8"),
                      "scripts/figures.py list --appendix prints it anew")
        self.assertIn("](verdicts.png)", page)
        with Image.open(ROOT / "results" / "verdicts.png") as picture:
            self.assertEqual(picture.text["dots"], dots.digest(entries),
                             "scripts/figures.py verdicts draws it anew")
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        counts = [number[word] for word in verdicts.EVERY]
        self.assertIn(f"| {' | '.join(verdicts.EVERY)} |\n{len(counts) * '|---'}|\n"
                      f"| {' | '.join(map(str, counts))} |\n", readme)

    def test_the_paper_that_agrees_least_has_judged_checks(self):
        def of(paper, *words):
            return [findings.Finding("T1", paper, {}, word, None, "") for word in words]

        agrees, falls = verdicts.AGREES, verdicts.DISAGREES
        for papers, wanted in (
                ({"A": (agrees, agrees, falls), "B": (agrees, falls, falls)}, "B"),
                ({"A": (agrees, agrees, falls), "B": (falls, falls)}, "A"),
                ({"A": (agrees, agrees, falls), "B": 9 * (verdicts.OPEN,)}, "A"),
                ({"A": (agrees, agrees, falls), "B": (*3 * (verdicts.DEVICE,), falls)}, "A"),
                ({"A": (*3 * (agrees,), falls), "B": 2 * (agrees, falls), "C": (
                    *10 * (agrees,), *9 * (falls,))}, "B (50 % of 4 judged checks) and C (53 % of 19 judged checks) agree")):
            with self.subTest(papers=papers):
                said = verdicts_page.least({paper: of(paper, *words) for paper, words in papers.items()})
                self.assertRegex(said, rf"^\*\*{re.escape(wanted)}( \([^)]*\) agrees)? least\*\*")
                self.assertEqual("others: A (67 %" in said, wanted == "B")

    def test_the_appendix_has_the_commands_of_the_rows_that_judge(self):
        one = synthetic.experiment(synthetic.LINES + '[simulated]\nmachine = "xeon"\n')
        for name, columns in (("quick", {"memory_end_mb": "1234"}), ("quick-xeon", {
                "machine": SIMULATED, "host_seconds": "60"}), ("quick-abacus", {"machine": SIMULATED})):
            synthetic.put(self.directory, one, name, **columns)
        lines = verdicts_page.appendix(synthetic.collected(self.directory, one)[0]).splitlines()[2:]
        self.assertEqual(lines, [
            "| P5 | Throughput against devices | `P5 --quick` | 2 | 0.0 | 1,234 | 1 agrees |",
            "| P5 | Throughput against devices | `P5 --quick --simulated --seeds=3` | 1 | 72.0 | "
            "not measured | 1 agrees |"])

    def test_every_paper_says_why_its_checks_fall_and_what_would_settle_it(self):
        about = papers.about()
        self.assertEqual(set(about), {findings.paper_of(one) for one in definition.load_all().values()
                                      if not one.own})
        for paper, said in about.items():
            with self.subTest(paper=paper):
                self.assertEqual(set(said), {"why", "settle"})
