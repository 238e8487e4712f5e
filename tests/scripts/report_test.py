"""Tests that a report's numbers and verdicts follow from rows, and that it marks simulated rows."""

import signal
import subprocess
import sys
import types
import urllib.error
import urllib.request
from unittest import mock

import synthetic
from fixtures import FIGURES, ROOT, InADirectory, printed

import figures
from experiments import check_values, definition, report, report_data, store

SIMULATED = "simulated Intel Xeon, 64 cores"


class Written(InADirectory):
    def setUp(self):
        super().setUp()
        self.lines = synthetic.experiment(synthetic.LINES)

    def put(self, one, name="quick", **columns):
        return synthetic.put(self.directory, one, name, **columns)

    def markdown(self, *experiments):
        return synthetic.markdown(self.directory, *experiments)

    def entry(self, one):
        return synthetic.collected(self.directory, one)[0][0]

    def test_our_number_and_the_verdict_come_from_the_rows(self):
        self.put(self.lines)
        text = self.markdown(self.lines)
        self.assertIn("8 threads: **2.25x**, published 2x.", text)
        self.assertIn(" | **1 of 2 agrees**; 1 not tested; needs 64 cores |", text)
        self.put(self.lines, tps="1000")
        text = self.markdown(self.lines)
        self.assertIn("8 threads: **1x**, published 2x.", text)
        self.assertIn(" | **0 of 2 agree**; 1 disagrees, 1 not tested; needs 64 cores |", text)

    def test_the_summary_counts_every_check_of_a_published_result_once(self):
        self.put(self.lines)
        stacked = synthetic.experiment(synthetic.STACKED)
        self.put(stacked)
        own = synthetic.experiment(synthetic.BARS, own=True)
        self.put(own)
        _, total = synthetic.collected(self.directory, self.lines, stacked, own)
        self.assertEqual(total["of"], 2)
        self.assertEqual({name: number for name, number in total["checks"].items() if number},
                         {"agrees": 1, "not tested": 2, "native": 1})
        self.assertEqual(report.counts_in_words(total["checks"]), "1 agrees, 2 not tested")

    def test_what_differs_from_a_paper_and_starving_threads_are_said(self):
        self.put(self.lines, log="nvmd", log_differs="it has two streams",
                 least_inserts="9", most_inserts="91")
        text = self.markdown(self.lines)
        self.assertEqual(text.count("`nvmd` differs from its paper: it has two streams."), 1)
        self.assertRegex(text, r"In (\d+) of \1 rows a thread starved, of `nvmd`")
        self.put(self.lines, log="centr", least_inserts="10", most_inserts="91")
        text = self.markdown(self.lines)
        self.assertNotIn("differs from its paper", text)
        self.assertNotIn("starved", text)

    def test_rows_of_other_settings_are_outdated(self):
        now = self.lines.points("quick")
        path = self.put(self.lines)
        rows = synthetic.rows(self.lines, rounds=(1,))
        for row, point in zip(rows, now):
            row["given"] = point.command_line()
        store.write_rows(path, rows)
        self.assertNotIn("utdated", self.markdown(self.lines))
        rows[0]["given"] += " --seed=2"
        store.write_rows(path, rows)
        text = self.markdown(self.lines)
        self.assertIn(f"- **Outdated**: 1 of {len(rows)} rows were made with other settings", text)
        self.assertIn("1 result was measured with other settings than the files have now", text)

    def test_rows_are_stale_once_code_or_a_preset_that_made_them_has_changed(self):
        def git(*words):
            return subprocess.run(["git", "-C", self.directory, "-c", "user.name=n", "-c",
                                   "user.email=e", *words], capture_output=True, text=True,
                                  check=True).stdout.strip()

        def commit(path, text="x"):
            file = self.directory / path
            file.parent.mkdir(parents=True, exist_ok=True)
            with open(file, "a", encoding="utf-8") as added:
                added.write(text)
            git("add", "-A")
            git("commit", "-qm", path)
            return git("rev-parse", "HEAD")

        git("init", "-q")
        commit("workloads/random.h")
        commit("workloads/trace/a.cc")
        commit("workloads/log_insert/a.cc", '#include "workloads/ycsb/a.h"\n')
        commit("workloads/ycsb/a.h")
        rows = [{"revision": commit("logging/a.cc"), "workload": "log-insert",
                 "given": "run --flagfile={config}/papers/eleda.flags --log=eleda"}]
        with mock.patch.object(report_data, "ROOT", self.directory):
            for path, native, simulated in (("docs/a.md", "", ""), ("sim/a.cc", "", "1 commit"),
                                            ("config/machines/xeon.toml", "", "2 commits"),
                                            ("config/papers/silo.flags", "", "2 commits"),
                                            ("config/papers/eleda.flags", "1 commit", "3 commits"),
                                            ("logging/a.cc", "2 commits", "4 commits"),
                                            ("workloads/trace/a.cc", "2 commits", "4 commits"),
                                            ("workloads/log_insert/a.cc", "3 commits", "5 commits"),
                                            ("workloads/ycsb/a.h", "4 commits", "6 commits"),
                                            ("workloads/random.h", "5 commits", "7 commits")):
                commit(path)
                report_data.commits_since.cache_clear()
                with self.subTest(path=path):
                    for profile, wanted in (("", native), ("xeon", simulated)):
                        said = report_data.stale_sentence(rows, profile)
                        self.assertEqual(said.split(" after ")[0], wanted)
            for given, wanted in (("run", "5 commits"), ("micro --log=centr", "4 commits")):
                said = report_data.stale_sentence([{**rows[0], "workload": "", "given": given}], "")
                self.assertEqual(said.split(" after ")[0], wanted)
            self.assertIn("is not in this repository",
                          report_data.stale_sentence([{"revision": "feed"}], ""))

    def test_stale_names_each_result_with_old_rows_and_ends_with_1(self):
        def stale(commits=0, given=""):
            if given is not None:
                rows = synthetic.rows(self.lines, rounds=(1,))
                for row, point in zip(rows, self.lines.points("quick")):
                    row["given"] = point.command_line() + given
                (self.directory / "p5").mkdir(exist_ok=True)
                store.write_rows(self.directory / "p5" / "quick.csv", rows)
            args = types.SimpleNamespace(ids=[], results=self.directory)
            with mock.patch.object(report_data, "commits_since", return_value=commits), \
                    mock.patch.object(definition, "load_all", return_value={"P5": self.lines}):
                status = []
                said = printed(lambda: status.append(figures.stale_command(args)))
            return status[0], said.splitlines()[0]

        self.assertEqual(stale(given=None), (1, "P5 no rows"))
        self.assertEqual(stale(), (0, "0 of 1 results have old rows, or no rows"))
        self.assertEqual(stale(3), (1, "P5 quick: 3 commits after revision 0123456789ab changed code or "
                                       "presets that made these rows"))
        self.assertEqual(stale(given=" --seed=2"), (1, "P5 quick: 24 of 24 rows were made with other "
                                                       "settings than the file has now"))

    def test_what_was_not_run_is_said_to_be_not_run(self):
        text = self.markdown(self.lines)
        self.assertIn("**not run**", text)
        self.assertIn("`scripts/figures.py run P5 --quick --fresh --plot`", text)

    def test_the_page_of_a_paper_begins_with_the_results_that_fall_most_and_their_judging_figure(self):
        here = 'why = "Two cores run no {}."\nhere = "two'
        more = """
[[check]]
says = "so"
holds = "value('tps', threads=8, log='poplar', workload='ycsb') > 1e9"
"""
        few, many, without = (synthetic.experiment(toml) for toml in (
            synthetic.LINES.replace('here = "two', here.format("P5")),
            synthetic.LINES.replace('"P5"', '"P6"').replace(
                'here = "two', 'cause = "model"\n' + here.format("P6")) + more,
            synthetic.LINES.replace('"P5"', '"P7"')))
        for one in (few, many, without):
            self.put(one, tps="1000")
            self.put(one, "quick-xeon", machine=SIMULATED, tps="1000")
        for name in ("quick", "quick-xeon"):
            (self.directory / "p6" / f"{name}.png").touch()
        text = self.markdown(few, many, without)
        reasons = text[text.index("## The reasons"):text.index("## Appendix")]
        self.assertEqual([line[4:6] for line in reasons.splitlines() if line[:4] == "### "], ["P6", "P5"])
        self.assertIn("P6: 2 of 3 checks do not agree", reasons)
        self.assertIn("(p6/quick.png)", reasons)
        self.assertNotIn("quick-xeon.png", reasons)
        self.assertIn("- P6: so. disagrees (native); cause: model", reasons)
        self.assertIn("- Causes, in checks: unknown 2, model 2\n", text)
        for said in ("Two cores run no P6.", "(p6/quick.png)", "(p6/quick-xeon.png)"):
            self.assertEqual(text.count(said), 1)

    def test_paced_rows_judge_before_those_without_a_pace(self):
        for name in ("quick-xeon", "quick-xeon-paced", "full-xeon"):
            self.put(self.lines, name, machine=SIMULATED)
        self.assertEqual([(run.label, run.size) for run in self.entry(self.lines).runs],
                         [("simulated xeon, paced", "quick"), ("simulated xeon", "full")])

    def test_simulated_rows_are_a_run_of_their_own(self):
        self.put(self.lines)
        self.put(self.lines, "quick-xeon", machine=SIMULATED, tps="1000")
        entry = self.entry(self.lines)
        self.assertEqual([run.simulated for run in entry.runs], [False, True])
        self.assertEqual([run.words[0] for run in entry.runs], ["1 of 2 agrees", "1 of 2 agrees"])
        self.assertEqual(entry.runs[1].checks[0][1], "disagrees")
        text = self.markdown(self.lines)
        self.assertIn(f"are of {SIMULATED}", text)
        self.assertIn("never mixed", text)

    def test_an_open_claim_has_the_verdict_of_the_simulated_machine_labelled_so(self):
        one = synthetic.experiment(synthetic.STACKED)
        self.put(one)
        self.put(one, "quick-xeon", machine=SIMULATED)
        entry = self.entry(one)
        self.assertEqual((entry.badge, entry.words, entry.note),
                         ("agrees", "1 of 1 agrees, simulated xeon", ""))
        text = self.markdown(one)
        self.assertIn("A simulated machine judges checks of 1 result,", text)

    def test_simulated_rounds_that_disagree_do_not_lack_cores(self):
        one = synthetic.experiment(synthetic.STACKED)
        self.put(one)
        self.assertEqual(self.entry(one).verdicts, ["not tested: too few cores"])
        path = self.directory / one.id.lower() / "quick-xeon.csv"
        rows = synthetic.rows(one, machine=SIMULATED)
        for row in rows:
            if row["round"] == "1":
                row["time_log_contention_pct"] = "50"
        store.write_rows(path, rows)
        self.assertEqual(self.entry(one).verdicts, ["not tested: the rounds disagree"])

    def test_a_run_that_judges_no_check_has_no_number(self):
        one = synthetic.experiment(synthetic.LINES.replace("[[grid]]", "needs_cores = 64\n[[grid]]"))
        self.put(one)
        self.put(one, "quick-xeon", machine=SIMULATED, tps="1000")
        text = self.markdown(one)
        self.assertIn("8 threads: **1x**, published 2x.", text)
        self.assertNotIn("**2.25x**", text)

    def test_a_claim_that_is_decided_here_has_the_simulated_verdict_beside_it(self):
        self.put(self.lines)
        self.put(self.lines, "quick-xeon", machine=SIMULATED, tps="1000")
        entry = self.entry(self.lines)
        self.assertEqual((entry.words, entry.note), (
            "2 of 2 agree", "1 judged by simulated xeon; simulated xeon 1 of them comes out otherwise"))

    def test_native_simulated_and_published_numbers_stand_side_by_side(self):
        one = synthetic.experiment(synthetic.LINES)
        self.put(one)
        self.put(one, "quick-xeon", machine=SIMULATED, tps="1000")
        text = self.markdown(one)
        self.assertLess(text.index("8 threads: **2.25x**, published 2x."),
                        text.index("8 threads: **1x**, published 2x."))
        other = synthetic.experiment(synthetic.LINES + """
[simulated]
machine = "xeon"
number = { what = "with 64", ours = "7", published = 71, unit = "x" }
""")
        self.assertIn("with 64: **7x**, published 71x.", self.markdown(other))

    def test_a_claim_that_fails_on_the_simulated_machine_has_the_reason_of_there(self):
        one = synthetic.experiment(synthetic.STACKED.replace(
            "needs_cores = 16", 'needs_cores = 16\nwhy = "Here it is so."') + """
[simulated]
machine = "xeon"
why = "There it is otherwise."
""")
        self.put(one)
        self.put(one, "quick-xeon", machine=SIMULATED, time_log_contention_pct="50")
        self.assertEqual(self.entry(one).why, "Simulated: There it is otherwise.")

    def test_a_run_that_was_only_simulated_is_marked_and_made_again_on_its_machine(self):
        self.put(self.lines, "quick-xeon-2", machine=SIMULATED + ", seed 3")
        entry = self.entry(self.lines)
        self.assertEqual((entry.words, entry.runs[0].machine),
                         ("2 of 2 agree, simulated xeon-2", SIMULATED))
        self.assertIn("run P5 --quick --machine=xeon-2 --fresh", self.markdown(self.lines))
        self.assertEqual(report.cell("a|b"), "a\\|b")

    def test_simulated_runs_are_counted_apart(self):
        self.put(self.lines)
        self.put(self.lines, "quick-xeon", machine=SIMULATED, revision="def")
        total = report_data.summary([self.entry(self.lines)])
        self.assertEqual((total["rows"], total["simulated_rows"]), (72, 72))
        self.assertEqual((total["revisions"], total["simulated_revisions"]),
                         (["0123456789ab"], ["def"]))

    def test_the_machine_of_the_file_comes_before_other_simulated_ones(self):
        one = synthetic.experiment(synthetic.STACKED + '\n[simulated]\nmachine = "xeon"\n')
        for name in ("quick-abacus", "quick-xeon"):
            self.put(one, name, machine=SIMULATED)
        self.assertEqual(self.entry(one).words, "1 of 1 agrees, simulated xeon")

    def test_the_full_size_hides_the_quick_one(self):
        self.put(self.lines)
        self.put(self.lines, "quick-xeon", machine=SIMULATED)
        self.put(self.lines, "full")
        self.assertEqual([run.name for run in self.entry(self.lines).runs], ["full", "quick-xeon"])

    def test_rows_of_extras_are_no_run(self):
        self.put(self.lines)
        (self.directory / "p5" / "quick-xeon.cdf.csv").write_text("round,fraction\n1,0.5\n",
                                                          encoding="utf-8")
        self.assertEqual([run.name for run in self.entry(self.lines).runs], ["quick"])

    def test_pauses_between_runs_are_no_time_taken(self):
        self.put(self.lines)
        run = self.entry(self.lines).runs[0]
        for row, moment in zip(run.measured.rows, ("10:00:00", "10:00:03", "10:00:06", "23:00:00")):
            row["began"] = f"2026-11-22T{moment}.000+00:00"
        self.assertLess(run.seconds(), 140)
        self.assertGreater(run.seconds(), 6)

    def test_a_check_has_the_numbers_that_it_looked_at(self):
        check = {"says": "", "holds": "all(x > 2 for x in ratios('tps', {'log': 'poplar'}, "
                                      "{'log': 'centr'}, workload='ycsb')) and "
                                      "value('tps', log='silo', threads=8, workload='tpcc') > 1"}
        found = check_values.of_check(synthetic.measured(self.lines), check)
        self.assertEqual(found, [
            ("tps, log=poplar over log=centr, workload=ycsb", "2.25, 2.25, 2.25, 2.25"),
            ("tps, log=silo threads=8 workload=tpcc", "640k")])


class Command(InADirectory):
    def test_the_references_have_the_list_of_published_results(self):
        page = (ROOT / "docs" / "REFERENCES.md").read_text(encoding="utf-8")
        made = self.run_figures("list", "--markdown").stdout
        self.assertIn(f"\n{made}", page)
        self.assertIn("| [A2](../config/figures/a2.toml) | Aether, Fig. 2 |", made)

    def test_report_writes_all_ids_without_a_single_row(self):
        text = self.report()
        page = (self.directory / "report" / "index.html").read_text(encoding="utf-8")
        for one in definition.load_all().values():
            for name in (one.id, *one.also):
                self.assertIn(name, text)
                self.assertIn(f'"{name}"', page)

    def test_serve_shows_the_page_of_the_rows_and_writes_nothing(self):
        words = ["serve", f"--results={self.directory}", "--no-browser", "--port=0"]
        # A background job of a shell ignores SIGINT. Its child processes do, too, without `signal`.
        with subprocess.Popen(
                [sys.executable, FIGURES, *words], stdout=subprocess.PIPE, text=True,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as server:
            try:
                said = next((line for line in server.stdout if line.startswith("http://")), "")
                self.assertRegex(said, r"^http://127.0.0.1:[0-9]+/ ")
                with urllib.request.urlopen(said.split()[0], timeout=60) as answer:
                    self.assertIn("P5", answer.read().decode())
                with self.assertRaisesRegex(urllib.error.HTTPError, "404"):
                    urllib.request.urlopen(said.split()[0] + "report/REPORT.md", timeout=60)
            finally:
                server.send_signal(signal.SIGINT)
            self.assertEqual(server.wait(60), 0)
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_serve_refuses_a_directory_that_is_not_there(self):
        missing = self.directory / "missing"
        done = self.run_figures("serve", f"--results={missing}", "--no-browser", check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("it has no rows to show", done.stderr)
        self.assertFalse(missing.exists())
