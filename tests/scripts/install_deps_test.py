"""Tests scripts/install_deps.sh: what it looks for, and what it says before it calls sudo; and which
packages scripts/prefix.py takes."""

import io
import os
import subprocess
import sys
import tarfile

from fixtures import ROOT, InADirectory

sys.path.insert(0, str(ROOT / "scripts"))
import prefix
from experiments.errors import Refused

# Programs that replace the system's. A package manager and sudo append their calls to the file with
# the script's output, so the file shows the order of calls and output. The compiler has all headers
# of $HEADERS.
MANAGERS = ("apt-get", "dnf", "pacman", "zypper")
STANDS_IN = {
    "id": "echo $USER_ID",
    "dpkg-query": "true",
    "sudo": 'echo "called: sudo $*" >> "$SAID"; if [ "$1" = -n ]; then shift; fi; "$@"',
    "g++": 'grep "^absent" | grep -vF "${HEADERS:-none}" || true',
    **{name: f'echo "called: {name} $*" >> "$SAID"' for name in MANAGERS},
}
NEEDED = ("bash cat cut awk sed sort grep fmt head mktemp rm env dirname tr "
          "realpath systemctl chmod tee").split()


class InstallDeps(InADirectory):
    def setUp(self):
        super().setUp()
        self.programs = self.directory / "programs"
        self.programs.mkdir()
        for name, body in STANDS_IN.items():
            self.make(name, body)

    def make(self, name, body):
        path = self.programs / name
        path.write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
        path.chmod(0o755)

    def said(self, job, user_id, without=(), status=0, **variables):
        """Returns the lines of the script, and the calls of other programs in their order."""
        path = self.directory / "said"
        for name in without:
            (self.programs / name).unlink()
        # No package manager but the stand-ins is in the path.
        tools = self.directory / "tools"
        tools.mkdir(exist_ok=True)
        for name in NEEDED:
            for folder in ("/usr/bin", "/bin", "/usr/sbin"):
                if os.path.exists(f"{folder}/{name}") and not (tools / name).exists():
                    (tools / name).symlink_to(f"{folder}/{name}")
        path.unlink(missing_ok=True)
        with open(path, "a", encoding="utf-8") as said:  # the stand-ins append too
            done = subprocess.run([ROOT / "scripts/install_deps.sh", *job.split()], check=False,
                                  stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                                  env={"PATH": f"{self.programs}:{tools}", "SAID": str(path),
                                       "USER_ID": user_id, "VIRTUAL_ENV": "/none", **variables})
        text = path.read_text(encoding="utf-8")
        self.assertEqual(done.returncode, status, text)
        return text.splitlines()

    def packages(self, job, after="--no-install-recommends ", **options):
        """Returns the packages that the job installs on a system without packages."""
        call, = [line for line in self.said(job, "0", **options) if line.startswith("called: ")]
        return call.partition(after)[2].split()

    def test_the_packages_are_named_before_sudo_and_apt_get_run(self):
        lines = self.said("ci", "1000")
        first = next(i for i, line in enumerate(lines) if line.startswith("called: "))
        before = " ".join(lines[:first])
        self.assertIn("sudo apt-get installs them", before)
        for package in ("libjemalloc-dev", "python3-matplotlib", "clang-format", "strace"):
            self.assertIn(package, before.split())
        self.assertTrue(any("apt-get -q -y" in line for line in lines[first:]))
        self.assertLessEqual(max(map(len, lines[:first])), 100)

    def test_root_is_not_told_of_sudo_and_what_is_there_is_not_named(self):
        lines = self.said("build", "0", HEADERS="<jemalloc/jemalloc.h>")
        self.assertNotIn("sudo", " ".join(lines))
        self.assertIn("apt-get installs them", lines[0])
        self.assertIn("libgflags-dev", " ".join(lines))
        self.assertNotIn("libjemalloc-dev", " ".join(lines))

    def test_it_is_silent_if_nothing_is_missing_whoever_installed_it(self):
        self.make("make", "")
        self.make("python3", "")
        self.make("g++", "cat >/dev/null")
        self.assertEqual(self.said("test", "1000", without=MANAGERS), [])

    def test_a_user_who_builds_and_tests_gets_no_server_no_browser_and_no_plots(self):
        test = self.packages("test")
        self.assertIn("libgtest-dev", test)
        for package in ("slurmctld", "munge", "openssh-server", "chromium", "python3-pandas",
                        "libboost-context-dev", "clang"):
            self.assertNotIn(package, test)
        self.assertNotIn("libgtest-dev", self.packages("build"))

    def test_other_systems_get_their_own_names(self):
        for manager, after, package in (("dnf", "install -y ", "libgflags-dev gflags-devel"),
                                        ("pacman", "--noconfirm ", "libtbb-dev onetbb"),
                                        ("zypper", "install ", "libnuma-dev libnuma-devel")):
            debians, its = package.split()
            with self.subTest(manager):
                others = [name for name in MANAGERS if name != manager]
                packages = self.packages("build", after, without=others)
                self.assertIn(its, packages)
                self.assertNotIn(debians, packages)
            for name in others:
                self.make(name, STANDS_IN[name])

    def test_without_root_and_sudo_it_ends_with_a_command_for_an_administrator(self):
        said = " ".join(self.said("build", "1000", without=("sudo",), status=1))
        self.assertIn("ask an administrator to run: apt-get install", said)
        self.assertIn("make deps PREFIX=DIR JOB=build", said)
        self.assertNotIn("called", said)

    def test_without_a_known_manager_it_names_what_it_looked_for(self):
        said = " ".join(self.said("build", "0", without=MANAGERS, status=1))
        self.assertIn("no apt-get, dnf, pacman or zypper", said)
        self.assertIn("<liburing.h>", said)

    def test_a_prefix_gets_no_programs_and_serves_no_other_jobs(self):
        said = " ".join(self.said("build", "1000", status=1, PREFIX="/none"))
        self.assertIn("not these programs: make", said)
        said = " ".join(self.said("tools", "1000", status=1, PREFIX="/none"))
        self.assertIn("build, test and demo", said)

    def test_servers_are_announced_before_they_are_installed(self):
        lines = self.said("products munge openssh-server", "0")
        told = next(i for i, line in enumerate(lines) if "are installed, not started" in line)
        self.assertIn("munge", lines[told])
        self.assertLess(told, next(i for i, line in enumerate(lines) if "called: apt-get" in line))
        self.assertNotIn("not started", " ".join(self.said("sim", "0")))

    def test_an_unknown_job_is_refused_with_those_there_are(self):
        self.assertIn("build|test|demo|sim|tools", self.said("everything", "0", status=2)[0])


def deb(names):
    """Returns a package with empty files of these names."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:xz") as made:
        for name in names:
            made.addfile(tarfile.TarInfo(name))
    parts = [("debian-binary", b"2.0"), ("data.tar.xz", content.getvalue())]
    return b"!<arch>\n" + b"".join(
        f"{name:<16}{0:<12}{0:<6}{0:<6}{0:<8}{len(data):<10}`\n".encode() + data +
        b"\n" * (len(data) % 2) for name, data in parts)


class Prefix(InADirectory):
    PACKAGES = prefix.listed("Package: libhwloc-dev\nDepends: libhwloc15 (= 2.9), libc6-dev, "
                             "dpkg (>= 1)\n\nPackage: libhwloc15\nDepends: libudev1 | libother\n\n"
                             "Package: libudev1\n\nPackage: libc6-dev\n\nPackage: libother\n")

    def test_libraries_come_with_their_libraries_but_not_with_the_c_library(self):
        self.assertEqual(prefix.closure(["libhwloc-dev"], self.PACKAGES),
                         ["libhwloc-dev", "libhwloc15", "libudev1"])
        with self.assertRaisesRegex(Refused, "has no package libnone"):
            prefix.closure(["libnone"], self.PACKAGES)

    def test_a_package_is_unpacked_in_the_prefix_and_nowhere_else(self):
        prefix.unpack(deb(["./usr/include/hwloc.h"]), self.directory)
        self.assertTrue((self.directory / "usr/include/hwloc.h").exists())
        for name in ("/etc/passwd", "./usr/../../x"):
            with self.assertRaisesRegex(Refused, "outside the prefix"):
                prefix.unpack(deb([name]), self.directory)

    def test_what_has_another_checksum_is_refused(self):
        path = self.directory / "content"
        path.write_text("x", encoding="utf-8")
        with self.assertRaisesRegex(Refused, "another checksum"):
            prefix.fetched(path.as_uri(), "0" * 64)
