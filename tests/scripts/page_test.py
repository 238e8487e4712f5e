"""Tests the page in a real browser: its content, its filters, and that it has no error.

Chromium runs without a window. If Chromium is not installed, these tests are skipped.
"""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import unittest
from unittest import mock

import synthetic
from PIL import Image
from fixtures import LONGEST_SECONDS, InADirectory

from experiments import page, plots, report, report_data, serve, store
from experiments.analysis import Measured
from experiments.errors import Refused

CHROMIUM = shutil.which("chromium")
EXPERIMENTS = {"LINES": False, "STACKED": False, "CDF": False, "DEPENDENCIES": False,
               "BARS": True, "TIMELINE": True}
SERIES = re.compile(r'<g class="series [^"]*" data-series="([^"]*)"')


def write_page(folder):
    """Writes a report of experiments that were never run. Returns the page's text."""
    experiments = {}
    for name, own in EXPERIMENTS.items():
        one = synthetic.experiment(getattr(synthetic, name) + synthetic.NUMBERS * (name == "LINES"), own)
        experiments[one.id] = one
        path = synthetic.put(folder, one)
        extras = synthetic.extras(one).get(one.plot["kind"])
        if extras:
            store.write_rows(path.with_name(f"quick.{one.plot['kind']}.csv"), extras)
    lines = experiments["P5"]
    lines.why = "a flag of its own, `--locks=early`, decides it"
    experiments["E9"].why = "its flushes are long"
    synthetic.put(folder, lines, "quick-xeon", machine="simulated Xeon, 64 cores")
    experiments["P6"] = synthetic.experiment(synthetic.LINES.replace('"P5"', '"P6"'))
    return page.page(*synthetic.collected(folder, *experiments.values()))


# HTML, a placeholder, the end of a script, and a new line. The page must show them as plain text.
HOSTILE = ("{{programs}}{{data}}<img src=x onerror=nowhere()></script><script>alert(1)</script>"
           "<!--<script>\"'><b>bold</b>&lt;\u2028\u2029`[a](javascript:x)")


def hostile_rows(one):
    """Returns rows of the experiment with the HOSTILE text in every field that can have it."""
    return [{**row, "machine": HOSTILE, "revision": HOSTILE, "axis_workload": HOSTILE,
             "workload": HOSTILE, "unsteady": HOSTILE, "unsafe": HOSTILE, "given": HOSTILE,
             "log": HOSTILE, "log_differs": HOSTILE, "began": HOSTILE, "scheme_counters": HOSTILE,
             "most_inserts": HOSTILE, "least_inserts": HOSTILE} for row in synthetic.rows(one)
            if row["axis_workload"] == "ycsb"]


def page_of_hostile_rows(folder):
    """Returns the page of rows whose texts are HTML, scripts, and names of placeholders."""
    one = synthetic.experiment(synthetic.LINES)
    (folder / "p5").mkdir()
    store.write_rows(folder / "p5" / "quick.csv", hostile_rows(one))
    return page.page(*synthetic.collected(folder, one))


@unittest.skipUnless(CHROMIUM, "chromium is not installed: the page is not looked at")
class Page(InADirectory):
    def setUp(self):
        super().setUp()
        self.text = write_page(self.directory)
        self.path = self.directory / "index.html"
        self.path.write_text(self.text, encoding="utf-8")

    def browse(self, *what, address="", url=None):
        done = subprocess.run(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--hide-scrollbars", f"--user-data-dir={self.directory}/profile",
             "--virtual-time-budget=5000", *what, (url or f"file://{self.path}") + address],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
            timeout=LONGEST_SECONDS)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        return done.stdout

    def document(self, address="", **more):
        """Runs the page's scripts, whose errors fail the test; returns the page's elements."""
        found = self.browse("--dump-dom", address=address, **more)
        error = re.search(r'<html[^>]* data-error="([^"]*)"', found)
        self.assertIsNone(error, error and error[1])
        return found

    def ids(self, document):
        return re.findall(r'<article class="entry" id="[^"]*" data-id="([^"]*)"', document)

    def test_all_results_are_there_with_their_plots_and_no_error(self):
        found = self.document()
        self.assertEqual(self.ids(found), ["P5", "P8", "E9", "A15", "P6", "demo", "T1"])
        self.assertEqual(re.findall(r'<g class="dot c-([a-z]*)[^"]*" role="img" aria-label="([^"]*)"', found), [
            ("black", "P5: twice the devices. ours 2, published 2; it agrees from 1 to 4. "
                      "by a device's formula (a device's formula)"),
            ("blue", "P5: a number. ours 2.25, published 2 (derived: 4 / 2); it agrees from 1 to 4. "
                     "agrees (native)")])
        self.assertEqual(len(re.findall(r'<rect [^>]*class="band"', found)), 2)  # with the legend's
        section = found[found.index('id="p5"'):found.index('id="p8"')]
        places = [section.index(f'data-run="{name}"') for name in ("quick", "quick-xeon")]
        self.assertLess(places[0], section.index('class="appendix"'))
        self.assertGreater(places[1], section.index('class="appendix"'))
        self.assertIn("E9, E11", found)
        for series in ("centr", "poplar", "work", "sync", "on an older one"):
            self.assertIn(series, SERIES.findall(found))
        self.assertNotIn("NaN", "".join(re.findall(r"<svg.*?</svg>", found, re.S)))

    def test_a_flag_in_a_text_is_code(self):
        found = self.document()
        self.assertIn("a flag of its own, <code>--locks=early</code>, decides it", found)
        self.assertNotIn("`", re.sub(r"<script.*?</script>", "", found, flags=re.S))

    def test_a_filter_in_the_address_leaves_only_what_it_names(self):
        found = {}
        for address, ids in (("#log=poplar", ["P5", "P8", "E9", "T1"]),
                             ("#machine=simulated+xeon", ["P5"]),
                             ("#verdict=disagrees", ["E9"]), ("#verdict=not+tested", ["P8", "P6"]),
                             ("#paper=ELEDA", ["E9"]), ("#paper=Poplar", ["P5", "P8", "P6"]),
                             ("#workload=tpcc&find=devices", ["P5"]), ("#p8", None)):
            with self.subTest(address):
                found[address] = self.document(address)
                if ids is None:  # the address of a section is not a filter
                    self.assertEqual(len(self.ids(found[address])), 7)
                else:
                    self.assertEqual(self.ids(found[address]), ids)
        one = re.sub("<script.*?</script>", "", found["#paper=ELEDA"], flags=re.S)
        for said in ("agrees least", "logjam's own"):
            self.assertNotIn(said, one)
        self.assertLess(one.index("The reasons that explain most"), one.index('data-id="E9"'))
        self.assertIn("its flushes are long", one)
        lines = found["#log=poplar"]
        lines = lines[lines.index('id="p5"'):lines.index('id="p8"')]
        self.assertEqual(set(SERIES.findall(lines)), {"poplar"})
        self.assertEqual(lines.count('class="published"'), 2 * 5)  # 4 and the legend's, in each run
        panels = re.findall(r'data-panel="([^"]*)"', found["#workload=tpcc&find=devices"])
        self.assertEqual(set(panels), {"tpcc"})
        self.assertEqual(re.findall(r'class="run[^"]*" data-run="([^"]*)"',
                                    found["#machine=simulated+xeon"]), ["quick-xeon"])

    def test_a_screenshot_is_not_blank_on_a_wide_and_on_a_narrow_screen(self):
        for width, height in ((1400, 2400), (420, 2400)):
            picture = self.directory / f"{width}.png"
            self.browse(f"--screenshot={picture}", f"--window-size={width},{height}")
            with Image.open(picture) as image:
                colours = image.convert("RGB").getcolors(1 << 24)
            paper = max(count for count, _ in colours)
            self.assertGreater(len(colours), 100)
            self.assertLess(paper, 0.97 * width * height)

    def test_an_error_in_the_page_is_seen(self):
        own, again = page._own, self.directory / "again"
        again.mkdir()
        with mock.patch("experiments.page._own", lambda name: own(name).replace(
                "\nbegin();", "\nbegin();\nnowhere();")):
            self.path.write_text(write_page(again), encoding="utf-8")
        with self.assertRaisesRegex(AssertionError, "nowhere is not defined"):
            self.document()

    def test_a_script_that_is_not_the_page_s_own_does_not_run(self):
        runs = "document.documentElement.dataset.error = 1"
        for planted in (f"<script>{runs}</script>", f'<img src="data:," onerror="{runs}">'):
            with self.subTest(planted=planted):
                self.path.write_text(self.text.replace("<main>", f"<main>{planted}"),
                                     encoding="utf-8")
                self.assertEqual(len(self.ids(self.document())), 7)

    def test_texts_of_rows_are_texts_in_the_page(self):
        again = self.directory / "again"
        again.mkdir()
        self.path.write_text(page_of_hostile_rows(again), encoding="utf-8")
        found = self.document("#%")
        self.assertEqual(self.ids(found), ["P5"])
        self.assertNotRegex(found, "<img|<b>bold|<script>alert|onerror=['\"]")
        self.assertIn("&lt;img src=x onerror=nowhere()&gt;", found)


class PlainFile(InADirectory):
    def test_hostile_texts_are_in_the_page_once_and_as_data(self):
        text = page_of_hostile_rows(self.directory)
        data = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', text, re.S)[1]
        self.assertNotRegex(data, "[<>&\u2028\u2029]")
        run, = json.loads(data)["entries"][0]["runs"]
        self.assertEqual(run["of"], HOSTILE)
        for panel in {mark["panel"] for mark in run["marks"]}:
            self.assertEqual(panel, HOSTILE)
        outside = text.replace(data, "")
        self.assertNotIn("<img", outside)
        self.assertEqual(outside.count("function drawLines("), 1)
        self.assertIn("&lt;img src=x", outside)  # in the summary

    def test_hostile_texts_are_texts_in_the_report_and_in_figures(self):
        page_of_hostile_rows(self.directory)
        one = synthetic.experiment(synthetic.LINES)
        (entry,), _ = synthetic.collected(self.directory, one)
        text = synthetic.markdown(self.directory, one)
        text = re.sub(r"(?<!\\)`[^`\n]*`", "", text)  # HTML shows code unchanged
        self.assertNotRegex(text, r"(?<!\\)<(img|script|/script|b>|!--<)|(?<!\\)\]\(javascript")
        run, = entry.runs
        rows = [{**row, "axis_log": "$\\frac{$" + row["axis_log"]} for row in run.measured.rows]
        plots.draw(one, Measured(one, rows), run.figure, {})
        victim = self.directory / "victim"
        run.figure.replace(victim)
        run.figure.symlink_to(victim)
        for use in (lambda: plots.draw(one, run.measured, run.figure, {}),
                    lambda: synthetic.markdown(self.directory, one)):
            with self.assertRaisesRegex(Refused, "quick.png is a link"):
                use()

    def test_the_policy_allows_the_page_s_own_scripts_and_style_alone(self):
        text = write_page(self.directory)
        said = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)[1]
        allowed = dict(part.strip().split(" ", 1) for part in said.split(";"))
        self.assertEqual(allowed["default-src"], "'none'")
        self.assertEqual(allowed["base-uri"] + allowed["form-action"], "'none''none'")
        for kind, pattern in (("script-src", "<script>(.*?)</script>"),
                              ("style-src", "<style>(.*?)</style>")):
            hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(of.encode()).digest()).decode()}'"
                      for of in re.findall(pattern, text, re.S)]
            self.assertEqual(allowed[kind].split(), hashes)
        self.assertLess(text.index("Content-Security-Policy"), text.index("<style"))
        self.assertNotRegex(re.sub(r"<script.*?</script>", "", text, flags=re.S),
                            r"""<[^>]*\s(on\w+|style)=|javascript:""")

    def test_a_file_of_rows_that_no_machine_names_so_is_refused(self):
        one = synthetic.experiment(synthetic.LINES)
        (self.directory / "p5").mkdir()
        for name in ("quick-$(x).csv", "quick-<b>.csv", "quick-a b.csv", "quick-\udcff.csv"):
            path = self.directory / "p5" / name
            path.write_bytes(b"")
            with self.subTest(name=name), self.assertRaisesRegex(Refused, "that no machine gives"):
                report_data.collect(self.directory, {one.id: one})
            path.unlink()

    def test_links_in_the_results_are_not_followed(self):
        one = synthetic.experiment(synthetic.LINES)
        other = self.directory / "other"
        other.mkdir()
        store.write_rows(other / "quick.csv", synthetic.rows(one))
        (self.directory / "results" / "p5").mkdir(parents=True)
        for link, target in (("results/p5/quick.csv", other / "quick.csv"),
                             ("results/p5/quick.csv", self.directory / "nowhere"),
                             ("results/p5/sensitivity-x", other), ("linked/p5", other)):
            path = self.directory / link
            path.parent.mkdir(exist_ok=True)
            path.symlink_to(target)
            with self.subTest(link=link), self.assertRaisesRegex(Refused, "is a link"):
                report_data.collect(self.directory / link.split("/")[0], {one.id: one})
            path.unlink()
        (self.directory / "link").symlink_to(self.directory / "results")  # named by the reader
        self.assertEqual(len(report_data.collect(self.directory / "link", {one.id: one})), 1)

    def test_the_page_asks_for_nothing_from_elsewhere(self):
        text = write_page(self.directory)
        self.assertEqual(re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', text), [])
        self.assertEqual(re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text), [])

    def test_empty_cells_and_ratios_to_zero_are_no_numbers(self):
        one = synthetic.experiment(synthetic.LINES)
        rows = [{**row, "tps": {"centr": "0", "silo": ""}.get(row["axis_log"], row["tps"])}
                for row in synthetic.rows(one)]
        (self.directory / "p5").mkdir()
        store.write_rows(self.directory / "p5" / "quick.csv", rows)
        text = page.page(*synthetic.collected(self.directory, one))
        data = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', text, re.S)[1]
        self.assertNotRegex(data, r":(NaN|-?Infinity)|[\[,](NaN|-?Infinity)")

    def test_the_run_that_judges_the_checks_is_the_first(self):
        one = synthetic.experiment(synthetic.LINES.replace('>= 1.8"', '>= 1.8"\nneeds_cores = 64'))
        for name, machine in (("quick", "Xeon, 2 cores"),
                              ("quick-xeon", "simulated Xeon, 64 cores, seed 1")):
            synthetic.put(self.directory, one, name, machine=machine)
        (entry,), _ = synthetic.collected(self.directory, one)
        self.assertEqual([run["name"] for run in page.entry_of(entry)["runs"]],
                         ["quick-xeon", "quick"])

    def test_the_server_refuses_a_port_that_cannot_be_used(self):
        with serve.server("", 0) as one:
            with self.assertRaisesRegex(serve.Refused, "--port=0 takes a free one"):
                serve.server("", one.server_port)
