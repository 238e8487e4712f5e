// Style is a test: the rules of tests/style/lint.cc over the whole source tree, and over planted
// lines, so that each rule has been seen to fail.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "logging/scheme_registry.h"
#include "tests/style/lint.h"
#include "tests/style/tree.h"

namespace logjam {
namespace {

// The relative paths of all files to which the rules apply.
std::set<std::string> sources() {
  std::set<std::string> found = lint::files({".cc", ".h", ".py", ".sh"});
  found.insert({"Makefile", ".ci/run"});
  return found;
}

std::vector<std::string_view> scheme_names() {
  std::vector<std::string_view> names;
  for (const SchemeInfo& scheme : all_schemes()) names.push_back(scheme.name);
  return names;
}

const lint::Floors& floors() {
  static const lint::Floors read = lint::read_floors(lint::read_file("tests/style/floors.txt"));
  return read;
}

TEST(Style, RulesHoldEverywhere) {
  const auto names = scheme_names();
  ASSERT_FALSE(names.empty());
  ASSERT_GT(sources().size(), 30u);
  lint::Flags flags;
  for (const std::string& path : sources()) {
    if (path.ends_with(".cc")) {
      lint::find_flags(path, lint::read_file(path), floors(), &flags);
    }
  }
  ASSERT_GT(flags.size(), 30u);
  for (const std::string& path : sources()) {
    for (const auto& finding : lint::check(path, lint::read_file(path), names, floors(), flags)) {
      ADD_FAILURE() << lint::to_string(finding);
    }
  }
}

TEST(Style, Formatted) {
  std::string command = "cd '" + lint::root() + "' && clang-format --dry-run -Werror";
  for (const std::string& path : sources()) {
    if (path.ends_with(".cc") || path.ends_with(".h")) command += " " + path;
  }
  EXPECT_EQ(std::system((command + " 2>&1").c_str()), 0) << "run `make format`";
}

const std::string kScheme = "const SchemeRegistration registration({});\n";

std::string code_lines(size_t count) {
  std::string code;
  for (size_t i = 0; i < count; ++i) code += "int a;  // a\n";
  return code;
}

// A planted text, and a part of the finding that it must produce; null if the text is clean.
struct Planted {
  const char* path;
  std::string text;
  const char* finding;
};

class Lint : public testing::TestWithParam<Planted> {};

TEST_P(Lint, ReportsExactlyThePlantedViolation) {
  const Planted& planted = GetParam();
  lint::Flags flags;
  lint::find_flags("cli/a.cc", "DEFINE_uint32(sockets, 0, \"\");\nDEFINE_string(\n    machine,",
                   floors(), &flags);
  lint::find_flags("platform/a.cc", "DEFINE_string(machine, \"\", \"\");", floors(), &flags);
  const auto findings =
      lint::check(planted.path, planted.text, {"centr", "aether-cd"}, floors(), flags);
  if (planted.finding == nullptr) {
    for (const auto& finding : findings) ADD_FAILURE() << lint::to_string(finding);
  } else {
    ASSERT_EQ(findings.size(), 1u) << planted.text;
    EXPECT_NE(lint::to_string(findings[0]).find(planted.finding), std::string::npos)
        << lint::to_string(findings[0]);
  }
}

const std::string kLater = std::string("TO") + "DO";

INSTANTIATE_TEST_SUITE_P(
    BannedTokens, Lint,
    testing::Values(
        Planted{"cc/a.cc", "int i;\nstd::atomic<int> x;\n", "cc/a.cc:2: \"std::atomic\""},
        Planted{"logging/a.cc", "std::mutex m;", "\"std::mutex\""},
        Planted{"logging/a.cc", "std::shared_mutex m;", "\"std::shared_mutex\""},
        Planted{"logging/a.cc", "std::thread t;", "\"std::thread\""},
        Planted{"logging/a.cc", "std::this_thread::yield();", "\"std::this_thread\""},
        Planted{"logging/a.cc", "volatile int x;", "\"volatile\""},
        Planted{"logging/a.cc", "auto t = __rdtscp(&x);", "\"rdtsc\""},
        Planted{"logging/a.cc", "std::chrono::seconds s;", "\"std::chrono\""},
        Planted{"logging/a.cc", "thread_local int x;", "\"thread_local\""},
        Planted{"logging/a.cc", "asm(\"pause\");", "\"asm\""},
        Planted{"logging/a.cc", "__asm__ (\"pause\");", "\"__asm__\""},
        Planted{"logging/a.cc", "#ifdef NDEBUG", "\"#if\""},
        Planted{"logging/a.h", "  # if 1", "\"  # if\""},
        Planted{"cc/a.cc", "#include <atomic>", "\"#include <atomic>\""},
        Planted{"cc/a.cc", "__atomic_load_n(p, 0);", "\"__atomic_\""},
        Planted{"cc/a.cc", "int n = 1'000; std::atomic<int> x; int m = 1'000;", "std::atomic"},
        Planted{"cc/a.cc", "char c = '\"'; std::mutex m; char d = '\"';", "std::mutex"},
        Planted{"cc/a.cc", "auto s = R\"(\")\"; std::mutex m;", "std::mutex"},
        Planted{"cc/a.cc", "/* a */ std::mutex m; // b", "std::mutex"},
        // Not code, or in a room to which the rule does not apply.
        Planted{"cc/a.cc", "// as std::atomic, volatile or asm would\nint x;\n", nullptr},
        Planted{"cc/a.cc", "/* std::mutex\n#if 0\n*/ const char* s = \"std::thread\";", nullptr},
        Planted{"cc/a.cc", "int asmx, volatiles; platform::mutex m; platform::atomic<int> a;",
                nullptr},
        Planted{"engine/a.cc", "std::atomic<int> x;\n#if 1\n#endif\n", nullptr},
        Planted{"tests/cc/a_test.cc", "std::thread t;", nullptr}));

INSTANTIATE_TEST_SUITE_P(
    Includes, Lint,
    testing::Values(
        Planted{"engine/run/a.cc", "#include \"cc/occ.h\"", "engine/ may not include"},
        Planted{"engine/run/a.cc", "#include \"workloads/ycsb.h\"", "engine/ may not include"},
        Planted{"engine/run/a.cc", "#include \"logging/device/device.h\"", "may not include"},
        Planted{"platform/a.cc", "#include \"engine/workload.h\"", "platform/ may"},
        Planted{"logging/stream/a.cc", "#include \"logging/schemes/common/a.h\"",
                "on a floor above"},
        Planted{"logging/schemes/common/a.cc", "#include \"logging/stream/a.h\"", nullptr},
        Planted{"logging/schemes/common/a.h", "#include \"logging/schemes/silo/a.h\"",
                "a floor above"},
        Planted{"logging/log_scheme.h", "#include \"logging/schemes/common/a.h\"", "a floor above"},
        Planted{"platform/a.h", "#include \"sim/a.h\"", "platform/ may not include"},
        Planted{"workloads/a.h", "#include \"proof/ledger/a.h\"", "workloads/ may not include"},
        Planted{"cc/a.cc", "#include \"logging/schemes/centr.h\"", "cc/ may not include"},
        Planted{"cc/a.cc", "#include \"logging/format/log_reader.h\"", "cc/ may not include"},
        Planted{"logging/a.cc", "#include \"engine/transaction.h\"", "logging/ may not include"},
        Planted{"logging/a.cc", "#include \"engine/storage/tuple.h\"", "logging/ may not include"},
        Planted{"workloads/a.cc", "#include \"logging/format/record.h\"",
                "workloads/ may not include"},
        Planted{"workloads/a.cc", "#include \"engine/protocol.h\"", "workloads/ may not include"},
        Planted{"engine/a.cc", "#include \"tests/style/lint.h\"", "engine/ may not include"},
        Planted{"cc/a.cc", "#include \"../engine/workload.h\"", "path from the root"},
        Planted{"cc/a.cc", "#include \"cc/b.cc\"", "path from the root"},
        Planted{"elsewhere/a.cc", "#include \"engine/workload.h\"", "in no room"},
        Planted{"cc/a.cc",
                "#include \"cc/row_lock.h\"\n#include \"engine/protocol.h\"\n"
                "#include \"logging/log_scheme.h\"\n#include \"platform/spin.h\"\n",
                nullptr},
        Planted{"engine/a.cc",
                "#include \"logging/log_scheme.h\"\n#include \"engine/storage/tuple.h\"", nullptr},
        Planted{"logging/log.cc",
                "#include \"platform/atomic.h\"\n#include \"logging/format/record.h\"", nullptr},
        Planted{"logging/a.cc", "// #include \"engine/transaction.h\"", nullptr},
        Planted{"engine/a.cc", "#include <tbb/parallel_for.h>", "engine/a.cc:1: includes oneTBB"},
        Planted{"tests/a_test.cc", "# include <oneapi/tbb/task_group.h>", "includes oneTBB"},
        Planted{"platform/a.cc", "#include <oneapi/tbb/task_group.h>", nullptr},
        Planted{"tests/cc/a_test.cc", "#include \"logging/schemes/centr.h\"", nullptr}));

INSTANTIATE_TEST_SUITE_P(
    Flags, Lint,
    testing::Values(Planted{"sim/a.cc", "int x;\nDECLARE_uint32(sockets);  // of cli/",
                            "sim/a.cc:2: uses --sockets of cli/a.cc"},
                    Planted{"cli/b.cc", "DECLARE_uint32(sockets);", nullptr},
                    Planted{"sim/a.cc", "DECLARE_string(machine);\nDECLARE_bool(help);", nullptr},
                    Planted{"sim/a.cc", "// DECLARE_uint32(sockets);", nullptr}));

INSTANTIATE_TEST_SUITE_P(
    Layout, Lint,
    testing::Values(
        Planted{"engine/a.cc", "int x;  // " + kLater + ": more", "engine/a.cc:1: left for later"},
        Planted{"scripts/a.py", "# FIX" + std::string("ME"), "left for later"},
        Planted{"engine/a.cc", "const char* path = \"/tmp/logjam-XXXXXX\";", nullptr},
        Planted{"engine/a.cc", "\tint x;", "a tab"}, Planted{"Makefile", "all:\n\tmake", nullptr},
        Planted{"engine/a.cc", "//" + std::string(98, '-'), nullptr},
        Planted{"engine/a.cc", "//" + std::string(99, '-'), "more than 100 columns"},
        Planted{"logging/schemes/a.cc", code_lines(149) + kScheme + "\n// a\n\n", nullptr},
        Planted{"logging/schemes/a.cc", code_lines(150) + kScheme, "151 lines of code"},
        Planted{"logging/schemes/a/buffer.h", code_lines(151), nullptr},
        Planted{"engine/a.cc", code_lines(151), nullptr},
        Planted{"engine/a.cc", std::string(480, '\n'), nullptr},
        Planted{"engine/a.cc", std::string(481, '\n'), "481 lines"}));

INSTANTIATE_TEST_SUITE_P(
    SchemeNames, Lint,
    testing::Values(
        Planted{"cc/a.cc", "if (name == \"centr\") return;", "names the scheme \"centr\""},
        Planted{"engine/run/a.cc", "find_scheme(\"aether-cd\")", "names the scheme \"aether-cd\""},
        Planted{"cc/a.cc", "// \"centr\" has one stream\nconst char* s = \"central\";", nullptr},
        Planted{"logging/schemes/centr.cc", "info.name = \"centr\";", nullptr},
        Planted{"tests/a_test.cc", "find_scheme(\"centr\")", nullptr}));

}  // namespace
}  // namespace logjam
