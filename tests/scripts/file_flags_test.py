"""Tests that a sweep refuses each flag with which its runs would replace a file of the user."""

import os

from fixtures import InADirectory

from experiments import definition, file_flags, runner, sweep
from experiments.definition import Point
from experiments.errors import Refused


class FileFlags(InADirectory):
    def refused(self, words, flags):
        with self.assertRaises(Refused) as refused:
            sweep.sweep(words, flags)
        return str(refused.exception)

    def test_a_flag_that_names_a_file_is_refused_in_every_spelling(self):
        for name in file_flags.WRITTEN:
            own = f"{{dir}}/{name}"
            for value in ("/a", "a", "", "{dir}/../a", "{dir}/x/../../a", f"{own},/a", f"/a,{own}",
                          "{config}/a", "{cores}", "{dir}x", "x{dir}", "{memory}/.."):
                for flag in (f"--{name}={value}", f"-{name}={value}", f"---{name}={value}",
                             f"--{name.replace('_', '-')}={value}"):
                    with self.subTest(flag=flag):
                        self.assertIn("each run would ", self.refused(["log=centr"], [flag]))
                if value:
                    with self.subTest(axis=value):
                        self.assertIn("each run would ", self.refused(
                            [f"{name}={value}", f"{name}={own}"], []))
            with self.subTest(name=name):
                self.assertIn("needs a value", self.refused(["log=centr"], [f"--{name}"]))
                self.assertIn("is not a flag", self.refused(["log=centr"], [f"--{name}", "/a"]))
                for flag in (f"--{name}={own}", f"--{name}={own},{{memory}}/x/"):
                    sweep.sweep(["log=centr"], [flag])

    def test_only_a_log_may_be_replaced_if_it_is_said_twice(self):
        sweep.sweep(["log=centr"], ["--wal_dir=/a", "--overwrite"])
        self.assertIn("--json", self.refused(["log=centr"], ["--json=/a", "--overwrite"]))
        self.assertIn("each run", self.refused(["log=centr"], ["--wal_dir=/a", "--nooverwrite"]))

    def test_a_flag_file_and_the_environment_are_no_other_way(self):
        inner, outer, fine = (self.directory / name for name in ("inner", "outer", "fine"))
        outer.write_text(f"# all\n  -flagfile={inner}\n")
        fine.write_text("--threads=1\n# --json=/a\n")
        for line in ("--wal_dir=/a", " -history=/a", "--wal-dir=/a", "\t--json=/a",
                     "--fromenv=csv"):
            inner.write_text(f"--threads=2\n{line}\n")
            for path in (inner, outer, f"{fine},{inner}"):
                with self.subTest(line=line, path=path):
                    self.assertIn("which a sweep sets itself", self.refused(
                        ["log=centr"], [f"--flagfile={path}"]))
        for flag in ("--fromenv=wal_dir", "--tryfromenv=threads,wal-dir", "--fromenv=flagfile"):
            with self.subTest(flag=flag):
                self.assertIn("itself", self.refused(["log=centr"], [flag]))
        sweep.sweep(["log=centr"], [f"--flagfile={fine},{{config}}/tpcc.flags",
                                    "--fromenv=threads"])

    def test_a_flag_file_that_has_no_end_is_refused(self):
        endless, fifo = self.directory / "endless", self.directory / "fifo"
        endless.write_text(f"--flagfile={endless}\n")
        os.mkfifo(fifo)
        for path, said in ((endless, "nested too deeply"), (fifo, "is a FIFO"),
                           ("/dev/zero", "is a device"), (self.directory, "is a directory")):
            with self.subTest(path=path):
                self.assertIn(said, self.refused(["log=centr"], [f"--flagfile={path}"]))

    def test_a_word_with_a_control_character_is_refused(self):
        for words, flags in ((["log=a\nb"], []), (["log=a"], ["--x=\t"]), (["log=\udcff"], [])):
            with self.subTest(words=words):
                self.assertIn("control character", self.refused(words, flags))

    def test_rounds_without_an_end_are_refused(self):
        for rounds in ("9" * 5000, "1000000", "\u0663", "\u00b2"):
            with self.subTest(rounds=rounds[:9]):
                self.assertIn("not a number of rounds",
                              self.refused(["log=a", f"rounds={rounds}"], []))

    def test_extra_rows_go_to_the_runner_s_own_directory_when_a_flag_is_asked_about_too(self):
        seen = []

        class Listening(runner.Runner):
            @staticmethod
            def _ended(line):
                seen.extend(line)
                return 0, []

        victim = self.directory / "victim"
        with Listening("/bin/true", self.directory / "wal") as made:
            made.refusal(Point(0, {}, "run", {"cdf": str(victim), "timeline": str(victim)}))
        self.assertNotIn(str(victim), " ".join(seen))

    def test_the_jobs_of_all_experiments_may_be_submitted(self):
        for one in definition.load_all().values():
            for point in one.points("full", lambda: {"centr": {"log": "centr"}}):
                file_flags.refuse_in_batch(point)

    def test_a_job_reads_no_profile_of_its_machine(self):
        file_flags.refuse_in_batch(Point(0, {}, "run", {"rate": 1000}))
        with self.assertRaisesRegex(Refused, "a job reads no file of its machine"):
            file_flags.refuse_in_batch(Point(0, {}, "run", {"rate": "profile:/etc/passwd"}))
