#!/usr/bin/python3
"""Tests that each rule of scripts/lint.py finds its planted line, and no other line.

`make lint` runs this file too: a check that has never failed is not a check.
"""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import lint  # noqa: E402

LATER = "TO" + "DO"
SCHEME = 'const SchemeRegistration registration({.name = "centr"});\n'
# A path, the planted text, and a part of the expected finding.
PLANTED = [
    ("cc/a.cc", "int i;\nstd::atomic<int> x;\n", 'cc/a.cc:2: "std::atomic" goes around'),
    ("cc/a.cc", "__atomic_load_n(p, 0);", '"__atomic_"'),
    ("cc/a.cc", "#include <atomic>", '"#include <atomic>"'),
    ("cc/a.cc", "int n = 1'000; std::atomic<int> x; int m = 1'000;", "std::atomic"),
    ("cc/a.cc", "char c = '\"'; volatile int x; char d = '\"';", "volatile"),
    ("cc/a.cc", 'auto s = R"(")"; volatile int m;', "volatile"),
    ("cc/a.cc", "/* a */ thread_local int m; // b", "thread_local"),
    ("logging/a.cc", "std::thread t;", '"std::thread"'),
    ("logging/a.cc", "std::this_thread::yield();", '"std::this_thread"'),
    ("logging/a.cc", "std::condition_variable c;", '"std::condition_variable"'),
    ("logging/a.cc", "auto t = __rdtscp(&x);", '"rdtsc"'),
    ("logging/a.cc", "std::chrono::seconds s;", '"std::chrono"'),
    ("logging/a.cc", '__asm__ ("pause");', '"__asm__"'),
    ("logging/a.h", "  # if 1", '"# if"'),
    ("engine/a.cc", "#if defined(__aarch64__)", '"__aarch64__" knows the processor'),
    ("sim/measure/a.h", "__builtin_ia32_clflush(at);", '"__builtin_ia32_" knows'),
    ("workloads/a.cc", '#include <immintrin.h>', "knows the processor"),
    ("proof/a.cc", 'asm("nop");', "knows the processor"),
    ("cc/a.cc", "x.load(platform::memory_order_relaxed);", "is not argued for in docs/MEMORY_ORDER"),
    ("engine/a.h", "platform::full_fence();", "is not argued for"),
    ("engine/a.cc", "std::shared_mutex m;", '"std::shared_mutex" is not seen by clang'),
    ("logging/a.cc", "const std::lock_guard guard(latch_);", '"std::lock_guard"'),
    ("logging/a.cc", 'platform::fatal("no");', '"platform::fatal" ends the process'),
    ("engine/a.cc", 'LOG(FATAL) << "no";', '"LOG(FATAL)"'),
    ("workloads/a.h", "exit(1);", '"exit("'),
    ("engine/run/a.cc", '#include "cc/occ.h"', "engine/ may not include"),
    ("engine/run/a.cc", '#include "logging/device/device.h"', "engine/ may not include"),
    ("logging/a.cc", '#include "engine/transaction.h"', "logging/ may not include"),
    ("logging/stream/a.cc", '#include "logging/schemes/common/a.h"', "on a floor above"),
    ("logging/schemes/common/a.h", '#include "logging/schemes/silo/a.h"', "a floor above"),
    ("cc/a.cc", '#include "../engine/workload.h"', "by its path"),
    ("cc/a.cc", '#include "cc/b.cc"', "by its path"),
    ("elsewhere/a.cc", '#include "engine/workload.h"', "in no room"),
    ("engine/a.cc", "#include <tbb/parallel_for.h>", "includes oneTBB"),
    ("sim/a.cc", "int x;\nDECLARE_uint32(sockets);", "sim/a.cc:2: uses --sockets of cli/flags.cc"),
    ("engine/a.cc", f"int x;  // {LATER}: more", "engine/a.cc:1: left for later"),
    ("scripts/a.py", f"# {LATER}", "left for later"),
    ("engine/a.cc", "\tint x;", "a tab"),
    ("engine/a.cc", "//" + 99 * "-", "more than 100 columns"),
    ("engine/a.cc", 601 * "\n", "more than 600 lines"),
    ("README.md", 111 * "\n", "more than 110 lines"),
    ("logging/schemes/a.cc", 150 * "int a;  // a\n" + SCHEME, "151 lines of code"),
    ("cc/a.cc", 'if (name == "centr") return;', 'names the scheme "centr"'),
    ("cc/a.cc", "int a;\n// The number of rows.\nsize_t rows() const;\n", "cc/a.cc:2: a fun"),
    ("cc/a.h", "int a;\n  // Any thread.\n  void wake(uint64_t at) {\n", "cc/a.h:2: a function's"),
    ("cc/a.h", "int a;\n// Whether it is so.\ntemplate <class T>\nbool is(const T& t);\n", "verb"),
    ("cc/a.cc", "// What a worker owns.", "cc/a.cc:1: a statement"),
    *[(path, f"{sign} {phrase}", "makes readers stop") for path, sign in
      [("docs/a.md", ""), ("cc/a.cc", "//"), ("config/a.toml", "#")] for phrase in
      ["the record behind the hole", "so many records", "every so manyth insert", "so much of it",
       "it hangs on the device", "all but for one", "tried in vain", "by turns", "Whoever reads it",
       "of whose bytes"]],
    ("docs/a.md", "See cc/oc.h.", "docs/a.md:1: there is no cc/oc.h"),
    ("docs/a.md", "`cc/{occ,oc}.h`", "there is no cc/oc.h"),
    ("docs/a.md", "`oc.h` has it", "there is no oc.h"),
    ("docs/a.md", "`walk/`", "there is no walk"),
    ("docs/a.md", "[x](README.md)", "links to docs/README.md, which does not exist"),
    ("docs/a.md", "`Occ::abort`", "no file has Occ and abort"),
    ("docs/a.md", "`OccTest.Aborts`", "no file has OccTest and Aborts"),
    ("docs/a.md", "    x --verify --wet=1", "there is no flag --wet"),
]
CLEAN = [
    ("cc/a.cc", "// as std::atomic, volatile or asm would\nint x;\n"),
    ("cc/a.cc", '/* std::mutex\n#if 0\n*/ const char* s = "std::thread";'),
    ("cc/a.cc", "int asmx, volatiles; platform::mutex m; platform::atomic<int> a;"),
    ("engine/a.cc", "std::atomic<int> x;\n#if 1\n#endif\n"),
    ("tests/cc/a_test.cc", 'std::mutex m; exit(1);\n#include "logging/schemes/centr.h"'),
    ("cli/a.cc", 'platform::fatal("no");'),
    ("engine/a.cc", "txn_->abort(); return refuse(why);"),
    ("logging/schemes/common/a.cc", '#include "logging/stream/a.h"'),
    ("cc/a.cc", '#include "cc/row_lock.h"\n#include "logging/log_scheme.h"\n'),
    ("cli/b.cc", "DECLARE_uint32(sockets);"),
    ("cc/occ.h", "class Occ {\n  int commit();\n};\nint i = x.load(memory_order_relaxed);"),
    ("logging/schemes/a.cc", 149 * "int a;  // a\n" + SCHEME + "// a\n\n"),
    ("engine/a.cc", 600 * "\n"),
    ("README.md", 110 * "\n"),
    ("cc/a.cc", '// "centr" has one stream\nconst char* s = "central";'),
    ("cc/a.h", "int a;\n// Returns the number of rows.\nsize_t rows() const;\n"),
    ("cc/a.h", "int a;\n// The number of rows.\nsize_t rows = 0;\n"),
    ("cc/a.h", "// The first lines of a file.\nsize_t rows() const;\n"),
    ("cc/a.cc", "void f() {\n  // The lock.\n  const Lock held(mutex);\n"),
    *[("docs/a.md", text) for text in (
        "a log that falls behind the file left behind, also many", "But forever! somany",
        "See cc/occ.h, cc/ and `run.py`.", "[x](../README.md#top), [y](https://a.b/c.h), [z](#top)",
        "`Occ::commit()`, `std::string`, `OccTest.Commits`", "`results/<id>/a.md`, `cc/*.h`",
        "    cp cc/occ.h > cc/mine.h", "|---|--|", "`--verify=false`, `--dry-run`, `--pwal_*`")],
]
TREE = {
    "README.md": "",
    "cc/occ.h": "class Occ {\n  int commit();  // and abort()\n};",
    "docs/MEMORY_ORDER.md": "`cc/occ.h`",
    "cli/flags.cc": 'DEFINE_bool(\n    verify, true, "");\nDEFINE_uint32(sockets, 0, "");',
    "logging/schemes/centr.cc": SCHEME,
    "scripts/run.py": 'add_argument("--dry-run")',
    "tests/cc/occ_test.cc": "TEST(OccTest, Commits) {}",
}


class Lint(unittest.TestCase):
    def test_each_rule_finds_its_planted_line(self):
        for path, text, finding in PLANTED:
            with self.subTest(path=path, text=text[:80]):
                found = lint.Tree({**TREE, path: text}).check()
                self.assertEqual(len(found), 1, found)
                self.assertIn(finding, found[0])

    def test_what_is_allowed_passes(self):
        for path, text in CLEAN:
            with self.subTest(path=path, text=text[:80]):
                self.assertEqual(lint.Tree({**TREE, path: text}).check(), [])


if __name__ == "__main__":
    unittest.main()
