"""Tests that scripts/install_deps.sh names the packages before it calls sudo."""

import os
import subprocess

from fixtures import ROOT, InADirectory

# Programs that replace Debian's. Each appends its call to the file with the script's output, so the
# file shows the order of calls and output.
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

    def said(self, job, user_id, installed=""):
        """Returns the lines of the script, and the calls of other programs in their order."""
        path = self.directory / "said"
        with open(path, "w", encoding="utf-8") as said:
            subprocess.run([ROOT / "scripts/install_deps.sh", *job.split()],
                           stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                           check=job != "everything",
                           env={**os.environ, "PATH": f"{self.directory}:{os.environ['PATH']}",
                                "SAID": str(path), "USER_ID": user_id, "INSTALLED": installed})
        return path.read_text(encoding="utf-8").splitlines()

    def packages(self, job):
        """Returns the packages that the job installs on a system without packages."""
        call, = [line for line in self.said(job, "0") if line.startswith("called: ")]
        return call.partition("--no-install-recommends ")[2].split()

    def test_the_packages_are_named_before_sudo_and_apt_get_run(self):
        lines = self.said("ci", "1000")
        first = next(i for i, line in enumerate(lines) if line.startswith("called: "))
        before = " ".join(lines[:first])
        self.assertIn("sudo apt-get installs them", before)
        for package in ("libjemalloc-dev", "python3-matplotlib", "clang-format"):
            self.assertIn(package, before.split())
        self.assertTrue(any("apt-get -q -y" in line for line in lines[first:]))
        self.assertLessEqual(max(map(len, lines[:first])), 100)

    def test_root_is_not_told_of_sudo_and_what_is_there_is_not_named(self):
        lines = self.said("build", "0", "libjemalloc-dev installed\n")
        self.assertNotIn("sudo", " ".join(lines))
        self.assertIn("apt-get installs them", lines[0])
        self.assertNotIn("libjemalloc-dev", " ".join(lines))

    def test_it_is_silent_if_nothing_is_missing(self):
        for job in ("build", "test", "demo", "sim", "tools", "developer", "ci"):
            installed = "".join(f"{one} installed\n" for one in self.packages(job))
            self.assertEqual(self.said(job, "0", installed), [], job)

    def test_a_user_who_builds_and_tests_gets_no_server_no_browser_and_no_plots(self):
        test = self.packages("test")
        self.assertIn("libgtest-dev", test)
        for package in ("slurmctld", "munge", "openssh-server", "chromium", "python3-pandas",
                        "libboost-context-dev", "clang"):
            self.assertNotIn(package, test)
        self.assertNotIn("libgtest-dev", self.packages("build"))

    def test_servers_are_announced_before_they_are_installed(self):
        lines = self.said("tools", "0")
        told = next(i for i, line in enumerate(lines) if "are installed, not started" in line)
        self.assertIn("munge", lines[told])
        self.assertLess(told, next(i for i, line in enumerate(lines) if "called: apt-get" in line))
        self.assertNotIn("not started", " ".join(self.said("sim", "0")))

    def test_an_unknown_job_is_refused_with_those_there_are(self):
        self.assertIn("build|test|demo|sim|tools", self.said("everything", "0")[0])
