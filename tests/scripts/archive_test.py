"""Tests that the sources of `git archive` build without git, and that the version has one place."""

import os
import re
import shutil
import subprocess
import unittest

from fixtures import ROOT, InADirectory

CITATION = ROOT / "CITATION.cff"
VERSION = re.compile(r"^version: (\d+\.\d+\.\d+)$", re.M)


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, check=True).stdout


@unittest.skipUnless(shutil.which("git") and (ROOT / ".git").exists(), "a tree without git")
class Archive(InADirectory):
    def setUp(self):
        super().setUp()
        # A stash that no list names holds the changed files, which HEAD does not.
        self.commit = (git("-c", "user.name=a", "-c", "user.email=a", "stash", "create").strip()
                       or git("rev-parse", "HEAD").strip()).decode()
        subprocess.run(["tar", "-x", "-C", self.directory], input=git("archive", self.commit),
                       check=True)

    def make(self, *words):
        # The directory may lie in the working tree of another git.
        subprocess.run(["git", "init", "-q", self.directory], check=True)
        plain = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
        done = subprocess.run(["make", "-s", *words], cwd=self.directory, env=plain, text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_its_program_has_the_version_and_the_archived_commit(self):
        self.make("CXXFLAGS=-O0", "build/cli/revision.o")
        compiled = (self.directory / "build/cli/revision.o").read_bytes()
        self.assertIn(f"{self.commit[:12]}-archive".encode(), compiled)
        self.assertIn(VERSION.search(CITATION.read_text(encoding="utf-8"))[1].encode(), compiled)

    def test_it_has_every_source_of_the_program_and_of_the_tests(self):
        planned = self.make("-n", "build/logjam", "build/tests/all")
        self.assertIn("-o build/tests/all", planned)

    def test_it_has_every_file_that_git_has(self):
        here = {str(path.relative_to(self.directory)) for path in self.directory.rglob("*")
                if not path.is_dir()}
        self.assertEqual(set(git("ls-tree", "-rz", "--name-only", self.commit).decode().split("\0"))
                         - {""}, here)


class Citation(unittest.TestCase):
    def test_it_names_only_what_exists(self):
        text = CITATION.read_text(encoding="utf-8")
        self.assertRegex(text, VERSION)
        self.assertEqual(re.findall(r"^([\w-]+):", text, re.M),
                         ["cff-version", "message", "title", "type", "authors", "version", "commit"])
        self.assertEqual(re.findall(r"^  - (.*)$", text, re.M), ['name: "logjam maintainers"'])

    def test_the_version_has_no_other_place(self):
        version = VERSION.search(CITATION.read_text(encoding="utf-8"))[1]
        for path in (ROOT / "Makefile", ROOT / "README.md", *(ROOT / "cli").glob("*")):
            self.assertNotIn(version, path.read_text(encoding="utf-8"), path)

    @unittest.skipUnless(os.environ.get("LOGJAM"), "LOGJAM names no binary")
    def test_the_program_says_its_version_and_its_revision(self):
        said = subprocess.run([os.environ["LOGJAM"], "--version"], text=True, check=True,
                              stdout=subprocess.PIPE).stdout.split()
        version = VERSION.search(CITATION.read_text(encoding="utf-8"))[1]
        self.assertEqual(said[-3:-1], [version, "revision"])
        self.assertRegex(said[-1], r"^([0-9a-f]{12}|v[0-9.]+(-\d+-g[0-9a-f]{12})?)(-dirty|-archive)?$|^unknown$")


if __name__ == "__main__":
    unittest.main()
