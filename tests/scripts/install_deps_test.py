"""scripts/install_deps.sh says what it installs and how, before it asks sudo for anything."""

import os
import subprocess

from fixtures import ROOT, InADirectory

# Programs that stand in for Debian's. Each appends its call to the file that also gets the script's
# output, so that the file shows the order.
STANDS_IN = {
    "id": "echo $USER_ID",
    "dpkg-query": "printf '%s' \"$INSTALLED\"",
    "sudo": 'echo "called: sudo $*" >> "$SAID"; if [ "$1" = -n ]; then shift; fi; "$@"',
    "apt-get": 'echo "called: apt-get $*" >> "$SAID"',
}


class InstallDeps(InADirectory):
    def setUp(self):
        super().setUp()
        for name, body in STANDS_IN.items():
            path = self.directory / name
            path.write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
            path.chmod(0o755)

    def said(self, user_id, installed=""):
        """Returns the lines that the script wrote, and the calls of other programs among them."""
        path = self.directory / "said"
        with open(path, "a", encoding="utf-8") as said:
            subprocess.run([ROOT / "scripts/install_deps.sh"], stdin=subprocess.DEVNULL, stdout=said,
                           stderr=said, check=True,
                           env={**os.environ, "PATH": f"{self.directory}:{os.environ['PATH']}",
                                "SAID": str(path), "USER_ID": user_id, "INSTALLED": installed})
        return path.read_text(encoding="utf-8").splitlines()

    def test_the_packages_are_named_before_sudo_and_apt_get_run(self):
        lines = self.said("1000")
        first = next(i for i, line in enumerate(lines) if line.startswith("called: "))
        before = " ".join(lines[:first])
        self.assertIn("sudo apt-get installs them", before)
        for package in ("libjemalloc-dev", "python3-matplotlib", "clang-format"):
            self.assertIn(package, before.split())
        self.assertTrue(any("apt-get -q -y" in line for line in lines[first:]))
        self.assertLessEqual(max(map(len, lines[:first])), 100)

    def test_root_is_not_told_of_sudo_and_what_is_there_is_not_named(self):
        lines = self.said("0", "libjemalloc-dev installed\n")
        self.assertNotIn("sudo", " ".join(lines))
        self.assertIn("apt-get installs them", lines[0])
        self.assertNotIn("libjemalloc-dev", " ".join(lines))

    def test_it_is_silent_if_nothing_is_missing(self):
        text = (ROOT / "scripts/install_deps.sh").read_text(encoding="utf-8")
        packages = text.partition("packages=(\n")[2].partition(")")[0].split()
        self.assertEqual(self.said("0", "".join(f"{one} installed\n" for one in packages)), [])
