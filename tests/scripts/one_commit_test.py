"""Tests that each function in docs/ONE_COMMIT.md is in one of the files of its row."""

import re
import unittest

from fixtures import ROOT

ROW = re.compile(r"^\| (`.*`.*?) \| (`.*`.*?) \| (.*) \|$", re.M)


def missing(page, text_of):
    """Returns the functions of each row that none of the row's files contains. If a cell says
    `Interface::f`: `Class::f`, the files must contain Class::f. The last cell names files, too."""
    found = []
    for functions, files, what in ROW.findall(page):
        files = re.findall(r"`([\w/]+\.(?:h|cc))`", files + what)
        texts = [text_of(file) for file in files]
        named = re.findall(r"`(\w+)::(\w+)`(?!:)", functions)
        for owner, member in named:
            if not any(re.search(rf"\b{owner}\b", text) and re.search(rf"\b{member}\b", text)
                       for text in texts):
                found.append(f"{owner}::{member}")
    return found


class OneCommit(unittest.TestCase):
    def test_each_function_is_in_a_file_of_its_row(self):
        page = (ROOT / "docs" / "ONE_COMMIT.md").read_text(encoding="utf-8")
        self.assertGreater(len(ROW.findall(page)), 40)
        self.assertEqual(
            missing(page, lambda file: (ROOT / file).read_text(encoding="utf-8")), [])

    def test_a_function_that_is_elsewhere_is_found(self):
        row = "| `A::f`: `B::f`, `C::g` | `x/b.cc` | what it does |"
        self.assertEqual(missing(row, {"x/b.cc": "class B { f(); } C g"}.get), [])
        self.assertEqual(missing(row, {"x/b.cc": "class B { f(); } C"}.get), ["C::g"])
        self.assertEqual(missing(row, {"x/b.cc": "f C g"}.get), ["B::f"])
