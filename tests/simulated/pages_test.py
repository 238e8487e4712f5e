"""Tests every command in README.md, docs/GUIDE.md and CONTRIBUTING.md, the pages in parallel."""

import json
import os
import pathlib
import re
import subprocess
import unittest

import pages
from fixtures import ROOT, InADirectory

LOGJAM = pathlib.Path(os.environ.get("LOGJAM", ROOT / "build" / "logjam")).resolve()
LOGJAM_SIM = pathlib.Path(os.environ.get("LOGJAM_SIM", ROOT / "build-sim" / "logjam"))
PAGES = ("README.md", "docs/GUIDE.md", "CONTRIBUTING.md")


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


class OfAPage(InADirectory):
    maxDiff = None

    def faults(self, page, text=None):
        """Returns the faults of a page's commands, or of the commands in `text`."""
        tree = pages.Tree(self.directory / "tree", LOGJAM, LOGJAM_SIM)
        return pages.check_page(page, text or text_of(page), tree)


class CommandsOfReadme(OfAPage):
    def test_every_command_works(self):
        self.assertEqual(self.faults("README.md"), [])


class CommandsOfGuide(OfAPage):
    def test_every_command_works(self):
        self.assertEqual(self.faults("docs/GUIDE.md"), [])


class CommandsOfContributing(OfAPage):
    def test_every_command_works(self):
        self.assertEqual(self.faults("CONTRIBUTING.md"), [])


class Commands(OfAPage):
    def test_wrong_commands_are_found_and_named(self):
        wrong = ["build/logjam list schemas", "build/logjam run --log_file=x", "no-such-program",
                 "make no-such-target", "build/logjam list schemes | grep no-such-scheme",
                 "build/tests/all --gtest_filter='NoSuch.*'",
                 "proof/corruptions.py --corruption=few", "cat config/no-such.flags"]
        text = "\n\n".join(f"    {line}   # said to work" for line in wrong)
        found = self.faults("README.md", text + "\n\n    build/logjam list devices | head -n 1\n")
        self.assertEqual([fault.partition(":")[2].partition(":")[0] for fault in found],
                         [str(2 * i + 1) for i in range(len(wrong))])

    def test_a_block_s_lines_are_commands_and_a_fenced_block_s_are_not(self):
        text = ("# One\n\ntext\n    of a paragraph\n\n    a \\\n        b  # c\n    d\n"
                "```sh\n    e\n```\n\n1. Item:\n\n       f\n")
        found = pages.commands("p.md", text)
        self.assertEqual([(one.line, one.section, pages.quick(one.text)) for one in found],
                         [(6, "One", "a b"), (8, "One", "d"), (15, "One", "f")])


class Tables(unittest.TestCase):
    def setUp(self):
        self.listed = json.loads(subprocess.run([LOGJAM, "list", "--json"], stdout=subprocess.PIPE,
                                                text=True, check=True).stdout)

    def test_readme_names_what_logjam_lists(self):
        rows = {row.split("|")[1].strip(): set(re.findall(r"`([^`]*)`", row))
                for row in text_of("README.md").splitlines() if row.startswith("| ")}
        names = {kind: {re.split(r"[:\[]", one["name"])[0] for one in self.listed[kind]}
                 for kind in ("workloads", "protocols", "schemes", "devices")}
        for row, kind in (("workload", "workloads"), ("protocol", "protocols"),
                          ("device", "devices")):
            self.assertEqual(rows[row], names[kind])
        self.assertLessEqual(rows["scheme"] - {"build/logjam list schemes"}, names["schemes"])
        self.assertIn(f"| scheme | {len(names['schemes'] - {'none'})} (", text_of("README.md"))

    def test_the_guide_says_of_each_scheme_whom_a_descheduled_worker_blocks(self):
        section = re.search(r"\n## Whom a descheduled worker blocks\n.*?\n## ",
                            text_of("docs/GUIDE.md"), re.DOTALL)[0]
        rows = re.findall(r"^\| (`[^|]*)\|", section, re.MULTILINE)
        self.assertEqual(sorted(re.findall(r"`([^`]*)`", " ".join(rows))),
                         [scheme["name"] for scheme in self.listed["schemes"]])


class Readme(unittest.TestCase):
    def test_its_scheme_is_real_code(self):
        block = re.search(r"```cpp\n// (\S+)\n(.*?)```", text_of("README.md"), re.DOTALL)
        code = " ".join(text_of(block[1]).split())
        for line in block[2].splitlines():
            for part in line.split("..."):
                self.assertIn(" ".join(part.split()), code)
