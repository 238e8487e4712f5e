"""Tests, without daemons, that a batch loses no row, has no row twice, and mixes no rows."""

import argparse
import json
import os
import pathlib
from unittest import mock

from fixtures import InADirectory, experiment, outcome

from experiments import batch, round_loop, store, submit
from experiments.files import alone
from experiments.errors import Refused
from experiments.runner import Outcome, PointRefused

# These scripts replace sbatch, scontrol and squeue. sbatch writes its arguments to a file, and
# counts the submitted arrays. sbatch fails when this count exceeds the number in the file `limit`.
SBATCH = """#!/bin/sh
cd {folder} || exit
count=$(($(wc -l <sent) + 1))
if [ "$count" -gt "$(cat limit)" ]; then echo "too many jobs" >&2; exit 1; fi
echo "$@" >>sent
echo "$((100 + count));cluster"
"""
SCONTROL = "#!/bin/sh\necho 'MaxArraySize            = 1001'\n"
SQUEUE = "#!/bin/sh\ncat {folder}/queued\n"


class FakeRunner:
    """Runs nothing. `ran` has the points of all FakeRunners."""

    ran, refuse, origin = [], (), {}

    def __init__(self, logjam, wal_dir, tries):
        self.logjam = logjam

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def run(self, point):
        if point.name in FakeRunner.refuse:
            raise PointRefused(f"{point.name} is refused")
        FakeRunner.ran.append(point.name)
        made = outcome(len(point.name), **FakeRunner.origin)
        return Outcome(made.row, {"cdf": [{"fraction": "0.5"}, {"fraction": "1"}]})


class Batches(InADirectory):
    def setUp(self):
        super().setUp()
        self.csv = self.directory / "t1" / "quick.csv"
        self.logjam = self.directory / "logjam"
        self.logjam.write_text("a binary")
        self.origin = {"binary": batch.digest(self.logjam)}
        FakeRunner.ran, FakeRunner.refuse, FakeRunner.origin = [], (), self.origin
        self.enterContext(mock.patch("experiments.batch.Runner", FakeRunner))
        self.addCleanup(os.chdir, os.getcwd())
        self.experiment = experiment()
        self.points = self.experiment.points()

    def make(self, rounds=2, points=None, **more):
        rows = store.Store(self.csv)
        jobs = round_loop.jobs_left(points or self.points, rounds, rows)
        given = {"wal_dir": "/tmp", "tries": 1, "skip_refused": False, "fresh": False, **more}
        return batch.make(self.directory / "t1" / "quick.batch", self.experiment, jobs, self.logjam,
                          rows, **given)

    def run_all(self, made, but=()):
        for index in range(len(made.jobs)):
            if index not in but:
                made.run(index)

    def refused_merge(self, made):
        with self.assertRaises(Refused) as refused:
            made.merge()
        return str(refused.exception)

    def assert_merged_once(self, jobs=8):
        rows = store.Store(self.csv)
        self.assertEqual((len(rows.rows), len(rows.done())), (jobs, jobs))
        self.assertEqual(len(rows.extras["cdf"]), 2 * jobs)


class Batch(Batches):
    def test_the_merged_rows_are_those_of_a_local_run(self):
        here = store.Store(self.directory / "here.csv")
        jobs = round_loop.jobs_left(self.points, 2, here)
        round_loop.run_jobs("T1", jobs, [(FakeRunner("", "", 1), here)], round_loop.Progress(8))
        made = self.make()
        for index in reversed(range(8)):
            made.run(index)
        made.merge()
        for here, there in (("here.csv", "quick.csv"), ("here.cdf.csv", "quick.cdf.csv")):
            self.assertEqual((self.directory / here).read_text(),
                             (self.directory / "t1" / there).read_text())

    def test_a_job_that_is_done_does_not_run_again(self):
        made = self.make()
        made.run(3)
        made.run(3)
        self.assertEqual(len(FakeRunner.ran), 1)
        self.assertEqual(made.missing(), [0, 1, 2, 4, 5, 6, 7])

    def test_a_merge_says_what_is_missing_and_how_it_ended(self):
        made = self.make()
        self.run_all(made, but=(1, 2, 6))
        (made.logs / "00002.log").write_text("one\nfigures.py: the disk is full\n")
        said = self.refused_merge(made)
        for words in ("3 of 8", "jobs 1-2, 6", "log=centr threads=2", "the disk is full",
                      "it did not begin"):
            self.assertIn(words, said)
        self.assertFalse(self.csv.exists())

    def test_a_task_that_is_killed_while_it_writes_leaves_no_row(self):
        made = self.make()
        self.run_all(made, but=(5,))
        with mock.patch("experiments.batch.os.replace", side_effect=KeyboardInterrupt):
            with self.assertRaises(KeyboardInterrupt):
                made.run(5)
        self.assertEqual(made.missing(), [5])
        self.refused_merge(made)
        made.run(5)
        made.merge()
        self.assert_merged_once()

    def test_a_damaged_row_is_named_and_made_again(self):
        made = self.make()
        self.run_all(made)
        path = made.rows / "00004.json"
        whole = json.loads(path.read_text())
        for content, said in (
                *((wrong, "is not whole") for wrong in (
                    path.read_text()[:-20], "", "{}", "[]", "null")),
                (json.dumps({**whole, "row": None}), "is not whole"),
                (json.dumps({**whole, "job": 3}), "is the row of job 3"),
                (json.dumps({**whole, "plan": "0123"}), "is a row of another plan")):
            with self.subTest(content=content[:10], said=said):
                path.write_text(content)
                self.assertEqual(made.missing(), [4])
                self.assertIn(f"00004.json {said}", self.refused_merge(made))
        made.run(4)
        made.merge()
        self.assert_merged_once()

    def test_files_that_are_no_jobs_do_not_count(self):
        made = self.make()
        self.run_all(made)
        for name in ("00003 (copy).json", "00099.json", "00003.json.node1.7.partial"):
            (made.rows / name).write_text((made.rows / "00003.json").read_text())
        made.merge()
        self.assert_merged_once()

    def test_a_merge_that_is_interrupted_merges_all_the_next_time(self):
        for interrupted_at in (1, 2):
            with self.subTest(interrupted_at=interrupted_at):
                self.csv.unlink(missing_ok=True)
                made = self.make(fresh=True)
                self.run_all(made)
                count = [0]

                def replace(source, target):
                    count[0] += 1
                    if count[0] == interrupted_at:
                        raise KeyboardInterrupt
                    os.rename(source, target)

                with mock.patch("experiments.files.os.replace", replace):
                    with self.assertRaises(KeyboardInterrupt):
                        made.merge()
                self.assertFalse(self.csv.exists())
                made.merge()
                self.assert_merged_once()

    def test_merging_twice_adds_nothing(self):
        made = self.make()
        self.run_all(made)
        made.merge()
        made.merge()
        self.assert_merged_once()

    def test_rows_of_different_machines_or_revisions_are_refused_with_the_nodes_names(self):
        for column in store.ORIGIN:
            with self.subTest(column=column):
                made = self.make(fresh=True)
                with mock.patch.dict(os.environ, SLURMD_NODENAME="odd"):
                    FakeRunner.origin = {**self.origin, column: "another"}
                    made.run(2)
                FakeRunner.origin = self.origin
                self.run_all(made)
                said = self.refused_merge(made)
                self.assertIn("made by odd", said)
                self.assertIn("another", said)
                self.assertFalse(self.csv.exists())
        self.assertEqual(made.forget(["odd"]), 1)
        self.assertEqual(made.missing(), [2])
        made.run(2)
        made.merge()
        self.assert_merged_once()

    def test_a_row_that_had_fewer_cores_is_refused(self):
        made = self.make()
        self.run_all(made, but=(1,))
        with mock.patch("experiments.batch.os.sched_getaffinity", return_value=range(90)):
            made.run(1)
        self.assertIn("90 cores allowed", self.refused_merge(made))

    def test_rows_that_others_added_meanwhile_are_not_doubled(self):
        made = self.make()
        self.run_all(made)
        here = store.Store(self.csv)
        here.add(self.points[0], 1, FakeRunner("", "", 1).run(self.points[0]))
        made.merge()
        self.assert_merged_once()

    def test_a_point_that_logjam_refuses_is_left_out_of_a_sweep(self):
        FakeRunner.refuse = ("log=centr threads=2",)
        made = self.make(skip_refused=True)
        self.run_all(made)
        rows, refused = made.merge()
        self.assertEqual(len(rows.rows), 6)
        self.assertEqual(list(refused), ["log=centr threads=2"])

    def test_a_point_of_an_axis_without_effect_is_left_out_of_a_sweep(self):
        FakeRunner.origin = {**self.origin, "without_effect": "--threads"}
        made = self.make(skip_refused=True)
        self.run_all(made)
        rows, refused = made.merge()
        self.assertEqual((rows.rows, set(refused.values())), ([], {"--threads has no effect here"}))

    def test_a_point_that_logjam_refuses_fails_in_an_experiment(self):
        FakeRunner.refuse = ("log=centr threads=2",)
        with self.assertRaises(PointRefused):
            self.make().run(1)

    def test_a_build_meanwhile_does_no_harm(self):
        made = self.make()
        self.logjam.write_text("another binary")
        self.run_all(made)
        made.merge()
        self.assert_merged_once()

    def test_a_binary_that_is_not_the_submitted_one_does_not_run(self):
        made = self.make()
        (made.folder / "logjam").write_text("another binary")
        with self.assertRaises(Refused):
            made.run(0)

    def test_the_same_plan_goes_on_and_another_one_is_refused(self):
        self.make().run(0)
        self.assertEqual(self.make().missing(), list(range(1, 8)))
        with self.assertRaisesRegex(Refused, "1 rows that are not merged"):
            self.make(rounds=3)
        self.assertEqual(len(self.make(rounds=3, fresh=True).missing()), 12)

    def test_more_rounds_follow_a_merged_batch(self):
        made = self.make()
        self.run_all(made)
        made.merge()
        more = self.make(rounds=3)
        self.assertEqual(len(more.jobs), 4)
        self.run_all(more)
        more.merge()
        self.assert_merged_once(12)

    def test_rows_of_another_binary_are_refused_before_anything_runs(self):
        here = store.Store(self.csv)
        here.add(self.points[0], 1, outcome())
        with self.assertRaises(Refused):
            self.make()

    def test_a_directory_that_is_no_batch_is_left_alone(self):
        folder = self.directory / "t1" / "quick.batch"
        folder.mkdir(parents=True)
        (folder / "thesis.tex").touch()
        for fresh in (False, True):
            with self.assertRaises(Refused):
                self.make(fresh=fresh)
        self.assertTrue((folder / "thesis.tex").exists())


class ToSlurm(Batches):
    """Tests with the script SBATCH in place of sbatch."""

    def setUp(self):
        super().setUp()
        for name, text in (("sbatch", SBATCH), ("scontrol", SCONTROL), ("squeue", SQUEUE)):
            path = self.directory / "bin" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text.format(folder=self.directory))
            path.chmod(0o755)
        for name, text in (("sent", ""), ("limit", "99\n"), ("queued", "")):
            (self.directory / name).write_text(text)
        self.enterContext(mock.patch.dict(
            os.environ, PATH=f"{self.directory}/bin:{os.environ['PATH']}"))

    def submit(self, rounds, **more):
        args = argparse.Namespace(**{
            "submit": "slurm", "batch": None, "slurm_options": "--partition=x --account=y",
            "hosts": None, "wal_dir": "/tmp", "tries": 1, "fresh": False, **more})
        return submit.submit(args, self.experiment, self.points, rounds, self.csv, self.logjam)

    def sent(self):
        return (self.directory / "sent").read_text().splitlines()

    def submitted_jobs(self):
        """Returns the jobs of each submitted array, as the array's tasks would find them."""
        arrays = []
        for line in self.sent():
            words = line.split()
            sizes = [word for word in words if word.startswith("--array=")]
            if sizes:
                lines = pathlib.Path(words[-1]).read_text().splitlines()
                self.assertEqual(sizes, [f"--array=0-{len(lines) - 1}"])
                arrays.append([int(line) for line in lines])
        return arrays

    def test_2500_jobs_are_three_arrays_and_a_merge_that_waits_for_all(self):
        self.assertFalse(self.submit(rounds=625))
        arrays = self.submitted_jobs()
        self.assertEqual([len(array) for array in arrays], [1001, 1001, 498])
        self.assertEqual(sum(arrays, []), list(range(2500)))
        self.assertIn("--dependency=afterany:101:102:103", self.sent()[-1])
        self.assertEqual(len(self.sent()), 4)
        for line in self.sent():
            self.assertIn("--partition=x --account=y", line)
        script = (self.directory / "t1" / "quick.batch" / "array.sbatch").read_text()
        for option in ("--nodes=1", "--exclusive", "--requeue"):
            self.assertIn(f"#SBATCH {option}\n", script)

    def test_only_what_is_missing_is_submitted_again(self):
        self.submit(rounds=2)
        made = batch.Batch(self.directory / "t1" / "quick.batch")
        self.run_all(made, but=(2, 7))
        self.submit(rounds=2)
        self.assertEqual(self.submitted_jobs()[1], [2, 7])
        made.run(2)
        made.run(7)
        self.assertTrue(self.submit(rounds=2))  # no row is missing, so it merges
        self.assert_merged_once()
        self.assertTrue(self.submit(rounds=2))
        self.assertEqual(len(self.sent()), 4)

    def test_a_batch_that_is_in_the_queue_is_not_submitted_again(self):
        self.submit(rounds=2)
        (self.directory / "queued").write_text("101_3\n102\n")
        for fresh in (False, True):
            with self.assertRaisesRegex(Refused, "2 tasks of it are in the queue"):
                self.submit(rounds=2, fresh=fresh)
        self.assertEqual(len(self.sent()), 2)

    def test_a_batch_or_rows_in_use_are_not_submitted_meanwhile(self):
        self.submit(rounds=1)
        before = (self.directory / "t1" / "quick.batch" / "plan.json").read_bytes()
        for place in (self.csv, self.csv.with_suffix(".batch")):
            for fresh in (False, True):
                with self.subTest(place=place), alone(place):
                    with self.assertRaisesRegex(Refused, "is in use by another process"):
                        self.submit(rounds=2, fresh=fresh)
        self.assertEqual((self.csv.with_suffix(".batch") / "plan.json").read_bytes(), before)
        self.assertEqual(len(self.sent()), 2)

    def test_what_slurm_replaces_in_paths_stands_for_itself_or_is_refused(self):
        for name, said in (("%j%a%A", "%%j%%a%%A"), ("a{}b", "a{}b")):
            self.csv = self.directory / name / "quick.csv"
            self.submit(rounds=1)
            folder = self.csv.with_suffix(".batch")
            self.assertIn(f"--output={self.directory}/{said}/quick.batch/logs/slurm-%A.log",
                          self.sent()[-1])
            self.assertTrue(self.sent()[-1].endswith(f"{folder}/merge.sbatch"))
        self.csv = self.directory / "a\\b" / "quick.csv"
        with self.assertRaisesRegex(Refused, "which Slurm takes out of paths"):
            self.submit(rounds=1)
        self.assertEqual(len(self.sent()), 4)

    def test_where_slurm_takes_no_more_the_rest_comes_later(self):
        (self.directory / "limit").write_text("1\n")
        with self.assertRaisesRegex(Refused, "too many jobs") as refused:
            self.submit(rounds=500)
        self.assertIn("101", str(refused.exception))
        made = batch.Batch(self.directory / "t1" / "quick.batch")
        for index in self.submitted_jobs()[0]:
            made.run(index)
        (self.directory / "limit").write_text("99\n")
        self.submit(rounds=500)
        self.assertEqual(sum(self.submitted_jobs(), []), list(range(2000)))


class Mistakes(InADirectory):
    def test_mistakes_get_one_sentence_and_status_2(self):
        sweep = ["sweep", f"--out={self.directory}/x.csv", "log=centr"]
        for words in ([*sweep, "--submit=slurm"],
                      [*sweep, "--submit=slurm", "--wal_dir=/tmp", '--slurm-options="a'], [*sweep, "--hosts=a"], [*sweep, "--batch=a"],
                      [*sweep, "--submit=parallel", "--wal_dir=/tmp"],
                      [*sweep, "--submit=slurm", "--wal_dir=/tmp", "--hosts=a"],
                      ["run", "demo-schemes", "--submit=slurm", "--wal_dir=/tmp", "--plot"],
                      [*sweep, "--submit=parallel", "--wal_dir=/tmp", "--hosts=/dev/zero"],
                      [*sweep, "--submit=parallel", "--wal_dir=/tmp", "--hosts=a\tb,c"],
                      ["merge", self.directory], ["task", self.directory, "1"],
                      ["merge", "/dev/zero"], ["task", "/dev/zero", "1"]):
            with self.subTest(words=words):
                done = self.run_figures(*words, check=False)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertNotIn("Traceback", done.stderr)
