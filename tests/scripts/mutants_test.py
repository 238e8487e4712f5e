"""proof/mutants.py in a small repository of its own, with mutants that are known before."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

from fixtures import LONGEST_SECONDS, ROOT, InADirectory
from processes import processes_with, wait_until

sys.path.append(str(ROOT / "proof"))

import mutant_choice  # noqa: E402
import mutant_tests  # noqa: E402

TREE = {
    "Makefile": r"""
CXXFLAGS += -I.
OBJECTS := build/logging/sum.o
build/logjam: $(OBJECTS)
	cp $< $@
build/tests/all: $(OBJECTS) build/tests/logging/sum_test.o build/tests/style/style_test.o
	g++ -o $@ $^ -lgtest -lgtest_main
build/%.o: %.cc
	@mkdir -p $(@D)
	g++ $(CXXFLAGS) -MMD -MP -c -o $@ $<
""",
    ".gitignore": "/build/\n",
    "logging/sum.h": """#pragma once
int sum(int a, int b);
int spare();
inline int twice(int a) { return a + a; }
""",
    "platform/log.h": "#include <iostream>\n#define LOG(level) std::cerr\n",
    "logging/sum.cc": """#include "logging/sum.h"

#include "platform/log.h"

int sum(int a, int b) {
  volatile int never = 0;
  while (never > 0) never = 0;
  int left = a * 1;  // a remark
  LOG(INFO) << "left " << left;
  return left + b;
}

int spare() { return 7; }
""",
    "tests/logging/sum_test.cc": """#include "logging/sum.h"

#include <gtest/gtest.h>
#include <unistd.h>

TEST(Sum, Adds) { EXPECT_EQ(sum(2, 3), 5); }
TEST(Sum, Doubles) { EXPECT_EQ(twice(4), 8); }

// Fails in every program once the file is there.
TEST(Busy, IsSlow) { EXPECT_NE(access("busy", F_OK), 0); }
""",
    # Fails with every mutant of sum.cc.
    "tests/style/style_test.cc": """#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

TEST(Style, TheFileIsAsItWas) {
  std::ifstream in("logging/sum.cc");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  for (const char* part : {"(int a, int b)", "never > 0", "a * 1", "left + b", "return 7"}) {
    EXPECT_NE(text.find(part), text.npos) << part;
  }
}
""",
}
# One mutant for each line that has the first text, and the verdict.
CHANGES = [("int sum(int a, int b) {", "int sum(int a, int) {", "does not compile"),
           ("never > 0", "never >= 0", "hung"),
           ("int left = a * 1;", "int left = 1 * a;", "same code"),
           ("return left + b;", "return left - b;", "caught"),
           ("return 7;", "return 8;", "survived"),
           ("return a + a;", "return a * a;", "caught")]
GENERATOR = f"""
import json, sys
sources = json.load(sys.stdin)
json.dump({{path: [[number, line.replace(before, after)] for number, line in enumerate(lines, 1)
                   for before, after, _ in {CHANGES!r} if before in line]
           for path, lines in sources.items()}}, sys.stdout)
"""


def verdict_of(one):
    return "hung" if one.get("hung") else one["verdict"]


class Mutants(unittest.TestCase):
    """The tests share a repository and a session that is complete."""

    @classmethod
    def setUpClass(cls):
        held = tempfile.TemporaryDirectory()
        cls.addClassCleanup(held.cleanup)
        cls.root = pathlib.Path(held.name, "repository")
        cls.generator = pathlib.Path(held.name, "generator.py")
        cls.generator.write_text(GENERATOR, encoding="utf-8")
        for path, text in TREE.items():
            cls.write(path, text)
        cls.git("init", "--quiet")
        for path in ("scripts/run_tests.py", "scripts/experiments/errors.py"):
            (cls.root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, cls.root / path)
        cls.commit()
        cls.first = cls.run_mutants("--count=1")
        cls.after_first = cls.session().read_text(encoding="utf-8")
        (cls.root / "build/mutants/tree/busy").touch()
        # As a session that was ended in the middle leaves it.
        clone = cls.root / "build/mutants/tree"
        source = clone / "logging/sum.cc"
        source.write_text(source.read_text(encoding="utf-8").replace("left + b", "left - b"),
                          encoding="utf-8")
        (clone / "build/logging/sum.o").write_bytes(b"not an object")
        kept = clone.parent / "kept/build/tests/logging/sum_test.o"
        kept.parent.mkdir(parents=True)
        kept.write_bytes(b"not an object")
        with open(cls.session(), "a", encoding="utf-8") as file:
            file.write('{"path": "logg')
        cls.all = cls.run_mutants("--count=9")

    @classmethod
    def write(cls, path, text):
        (cls.root / path).parent.mkdir(parents=True, exist_ok=True)
        (cls.root / path).write_text(text, encoding="utf-8")

    @classmethod
    def git(cls, *words):
        return subprocess.run(["git", "-C", cls.root, "-c", "user.name=a", "-c", "user.email=a@b",
                               *words], check=True, stdout=subprocess.PIPE, text=True).stdout

    @classmethod
    def commit(cls):
        cls.git("add", ".")
        cls.git("commit", "--quiet", "-m", "a change")

    @classmethod
    def run_mutants(cls, *words, generator=True):
        done = subprocess.run(
            [ROOT / "proof/mutants.py", f"--root={cls.root}", "--seed=5", "--patience=2", *words,
             *([f"--generator={cls.generator}"] if generator else [])],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            timeout=LONGEST_SECONDS)
        return done.returncode, done.stdout

    @classmethod
    def session(cls):
        return next((cls.root / "build/mutants").glob("*-seed-5.jsonl"))

    def found(self):
        text = self.session().read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def test_each_mutant_has_the_verdict_that_was_known_before(self):
        self.assertEqual(self.all[0], 0, self.all[1])
        verdicts = {after: verdict_of(one) for one in self.found()
                    for _, after, _ in CHANGES if after in one["after"]}
        self.assertEqual(verdicts, {after: verdict for _, after, verdict in CHANGES})

    def test_the_test_that_sees_a_mutant_is_named_and_survivors_are_printed(self):
        by = {one["path"]: one["by"] for one in self.found() if verdict_of(one) == "caught"}
        self.assertEqual(by, {"logging/sum.cc": ["Sum.Adds"], "logging/sum.h": ["Sum.Doubles"]})
        self.assertIn("survived: logging/sum.cc:13\n- int spare() { return 7; }\n"
                      "+ int spare() { return 8; }\n", self.all[1])
        self.assertIn("6 drawn, 1 do not compile, 1 make the same code, 4 judged", self.all[1])
        self.assertIn("3 caught (1 by a test that hung, 0 once of two), 1 survived", self.all[1])
        self.assertIn("there are no more", self.all[1])

    def test_a_test_that_fails_without_the_mutant_too_is_dismissed(self):
        self.assertNotIn("Busy", self.first[1])
        self.assertIn("fails without the mutant too: Busy.IsSlow\n", self.all[1])
        self.assertNotIn("Busy.IsSlow", [name for one in self.found() for name in one.get("by", [])])

    def test_a_session_goes_on_where_it_ended_and_judges_nothing_twice(self):
        self.assertEqual(self.first[0], 0, self.first[1])
        text = self.session().read_text(encoding="utf-8")
        self.assertTrue(self.after_first and text.startswith(self.after_first))
        self.assertEqual(len({one["after"] for one in self.found()}), len(CHANGES))
        self.assertEqual(self.run_mutants("--count=2")[0], 0)
        self.assertEqual(self.session().read_text(encoding="utf-8"), text)

    def test_the_checkout_stays_as_it_is(self):
        for path, text in TREE.items():
            self.assertEqual((self.root / path).read_text(encoding="utf-8"), text)
        self.assertEqual(self.git("status", "--porcelain"), "")

    def test_without_the_generator_it_says_who_installs_it(self):
        status, said = self.run_mutants(generator=False)
        self.assertEqual((status, said), (1, "mutants: universalmutator is not installed: "
                                             "scripts/install_deps.sh mutants\n"))

    def test_with_a_new_test_a_survivor_is_caught_again(self):
        old = self.session()
        test = "tests/logging/sum_test.cc"
        self.write(test, TREE[test] + "TEST(Sum, Spares) { EXPECT_EQ(spare(), 7); }\n")
        self.write("logging/sum.cc", "\n" + TREE["logging/sum.cc"])
        self.commit()
        self.addCleanup(self.git, "reset", "--quiet", "--hard", "HEAD~")
        status, said = self.run_mutants(f"--again={old}")
        self.assertEqual(status, 0, said)
        self.assertIn("1 have survived, the lines of 1 are still there", said)
        self.assertRegex(said, r"caught +logging/sum.cc:14  Sum.Spares")


class MutantChoice(unittest.TestCase):
    FOUND = {("a.cc", line): [mutant_choice.Mutant("a.cc", line, "x", f"{line} {at}")
                              for at in range(line + 1)] for line in range(40)}

    def test_a_seed_draws_the_same_mutants_again_and_another_seed_others(self):
        drawn = [list(mutant_choice.drawn(self.FOUND, seed)) for seed in (1, 1, 2)]
        self.assertEqual(drawn[0], drawn[1])
        self.assertNotEqual(drawn[0], drawn[2])
        self.assertEqual(sorted(one.line for one in drawn[0]), list(range(40)))

    def test_comments_literals_and_messages_are_hidden(self):
        text = ("int n = 1'000;  // a + b\n"
                "/* c + d\n   e */ char q = '\"'; auto s = \"f + \\\" g\";\n"
                "  VLOG(1) << \"h\" << i + 1\n          << j;\n"
                "  CHECK(k(1) < 2) << \"l\" << m + 1; n = 2;\n"
                "auto r = R\"(o + 1\n1 + p)\"; t = u + v;\n")
        hidden = mutant_choice.Hidden(text)
        self.assertEqual([mutant_choice.NAME.sub("@", line) for line in hidden.lines[:6]],
                         ["int n = 1'000;", "", " char q = @; auto s = @;", "  @", "@",
                          "  CHECK(k(1) < 2)@; n = 2;"])
        self.assertEqual([mutant_choice.may_change(line) for line in hidden.lines],
                         [True, False, True, False, False, True, False, False, False])
        self.assertEqual(hidden.restored(hidden.lines[2]),
                         " char q = '\"'; auto s = \"f + \\\" g\";")
        self.assertEqual(hidden.restored(hidden.lines[5]), text.split("\n")[5])

    def test_a_jump_comes_only_where_a_loop_may_be(self):
        for before, jump_may_follow in [("  a();", False), ("    a();", True), ("    a(b,", False),
                                        ("  while (a) {", True), ("void a() {", False),
                                        ("    }", True)]:
            self.assertEqual(mutant_choice.never_compiles(before, before + "    break;"),
                             not jump_may_follow, before)

    def test_a_digit_of_a_name_does_not_change(self):
        for before, after, in_name in [("uint64_t a;", "uint(64-1)_t a;", True),
                                       ("a = b16;", "a = b1;", True), ("a = 16;", "a = 1;", False)]:
            self.assertEqual(mutant_choice.never_compiles(before, after), in_name, before)

    def test_a_bracket_a_pointer_and_a_shift_are_no_operators_that_change(self):
        for before, after, declarator in [
                ("std::vector<int> a;", "std::vector==int> a;", True), ("int* p;", "int+ p;", True),
                ("f(&a);", "f(|a);", True), ("out << a;", "out >< a;", True),
                ("if (a < b)", "if (a <= b)", False),
                ("a = b * c;", "a = b + c;", False), ("if (a >= b)", "if (a > b)", False),
                ("if (a && b)", "if (a || b)", False), ("a = 1;", "a = 0;", False)]:
            self.assertEqual(mutant_choice.never_compiles(before, after), declarator,
                             f"{before} {after}")


class MutantTests(InADirectory):
    """A program in the place of scripts/run_tests.py."""

    def play(self, script, **how):
        path = self.directory / "scripts/run_tests.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/bash\n" + script, encoding="utf-8")
        path.chmod(0o755)
        return mutant_tests.Suite(self.directory, ["Style.*"], **how).play(["A.*", "B.*"])

    def write_log(self, text):
        logs = self.directory / "build/tests/all.logs"
        logs.mkdir(parents=True, exist_ok=True)
        (logs / "000.log").write_text(text, encoding="utf-8")

    def test_the_logs_of_earlier_tests_are_not_read(self):
        self.write_log("[ RUN      ] A.B\n[  FAILED  ] A.B (3 ms)\n")
        self.assertEqual(self.play("sleep 2; echo '1 passed, 0 failed'").failed, [])

    def test_patterns_without_a_test_fail_nothing(self):
        self.assertEqual(self.play("echo '0 passed, 1 failed'; exit 1").failed, [])
        self.assertEqual(self.play("[ $3 = --gtest_filter=A.*:B.*-Style.* ] || echo failed: $3\n"
                                   "echo '0 passed, 1 failed'").failed, [])

    def test_a_program_that_does_not_list_its_tests_has_failed(self):
        self.assertEqual(self.play("exit 1").failed, [mutant_tests.NOT_STARTED])

    def test_the_first_failure_ends_everything(self):
        self.write_log("")
        played = self.play("""mkdir build/tests/all.logs
            printf '[ RUN      ] A.B\\nno\\n[  FAILED  ] A.B (3 ms)\\n' > build/tests/all.logs/0.log
            LOGJAM_OF_A_MUTANT=$PWD sleep 1000 & wait""")
        self.assertEqual((played.failed, played.hung), (["A.B"], False))
        wait_until("it has ended",
                   lambda: not processes_with(LOGJAM_OF_A_MUTANT=str(self.directory)))

    def test_tests_that_take_most_of_the_memory_are_ended(self):
        script = """python3 -c 'import time; taken = b"x" * (200 << 20); time.sleep(4)'
            echo '1 passed, 0 failed'"""
        self.assertEqual(self.play(script).failed, [])
        with unittest.mock.patch("mutant_tests.memory_bytes", lambda: 200 << 20):
            self.assertEqual(self.play(script).failed, [mutant_tests.TOOK_MEMORY])

    def test_a_test_hangs_if_it_takes_far_longer_than_usual(self):
        script = """mkdir -p build/tests/all.logs
            echo '[ RUN      ] A.B' > build/tests/all.logs/0.log
            sleep 4; echo '1 passed, 0 failed'"""
        self.assertEqual(self.play(script, patience_seconds=1, ms={"A.B": 100}),
                         mutant_tests.Played(["A.B"], hung=True))
        self.assertEqual(self.play(script, patience_seconds=1, ms={"A.B": 1000}).failed, [])

    def test_a_file_concerns_the_tests_named_as_it_is_or_including_it_or_those_of_its_room(self):
        for name, text in {"logging/ring_test.cc": "TEST(Ring, A) {}",
                           "logging/stream_test.cc": '#include "logging/stream/ring.h"\n'
                                                     "TEST_P(Stream, A) {}\nTEST(Other, A) {}",
                           "cc/bank_test.cc": "TYPED_TEST(Bank, A) {}"}.items():
            path = self.directory / "tests" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        of_stream = mutant_tests.patterns_of(["Other", "Ring", "Stream"])
        for path, patterns in {
                "logging/stream/ring.cc": of_stream, "logging/log.h": of_stream,
                "logging/schemes/silo/ring.cc": mutant_tests.patterns_of(["Ring"]) + ["*/*ring*"],
                "cc/occ.cc": mutant_tests.patterns_of(["Bank"]) + ["*/*occ*"]}.items():
            self.assertEqual(mutant_tests.concerned(self.directory, path), patterns, path)
        self.assertEqual(mutant_tests.patterns_of(["A"]), ["A.*", "*/A.*", "A/*"])
