// One new file adds a log scheme, and one new file adds a workload. The test adds the scheme `mine`
// to a copy of the source tree with the code and the steps of CONTRIBUTING.md, and the workload
// `transfer` with the code of docs/WORKLOADS.md. It changes no other file. The program built from
// the copy lists the scheme, checks its flag, runs both, and recovers after kill -9.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "proof/rounds/child.h"
#include "proof/rounds/crash_round.h"
#include "tests/code_blocks.h"
#include "tests/shell.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

namespace fs = std::filesystem;

void replace_only(const char* pattern, const std::string& code, std::string* text) {
  const std::regex regex(pattern);
  EXPECT_EQ(std::distance(std::sregex_iterator(text->begin(), text->end(), regex), {}), 1)
      << pattern << " in\n"
      << *text;
  std::smatch match;
  if (std::regex_search(*text, match, regex)) {
    text->replace(static_cast<size_t>(match.position()), static_cast<size_t>(match.length()), code);
  }
}

class CrashOfAnAddedScheme : public testing::Test {
 protected:
  // Follows steps 1 and 2 of the page in a copy of the tree, and builds the program. The copy has
  // the built object files and the same build flags, so make compiles only the new file.
  void SetUp() override {
    const std::vector<std::string> walk =
        code_blocks("CONTRIBUTING.md", "## Add a scheme: a newcomer's walk");
    ASSERT_GE(walk.size(), 5u);
    const fs::path build = fs::path(binary_under_test()).parent_path();
    const std::string name = build.filename();
    const std::string rooms = "platform sim logging engine cc workloads proof cli";
    fs::create_directory(tree_.path_of(name));
    const Ended copied =
        shell("{ cd '" + root().string() + "' && cp -a Makefile scripts " + rooms + " '" +
              tree_.path() + "' && cd '" + build.string() + "' && cp -a --parents flags units " +
              "$(find . -name '*.[do]' -not -path './tests/*' -not -path './units/*') '" +
              tree_.path_of(name) + "/'; } 2>&1");
    ASSERT_EQ(copied.status, 0) << copied.output;
    ASSERT_EQ(shell("cd '" + tree_.path() + "' && " + walk[0]).status, 0) << walk[0];

    const std::string path = tree_.path_of("logging/schemes/mine.cc");
    std::ifstream in(path);
    std::string source{std::istreambuf_iterator<char>(in), {}};
    replace_only("\n\nnamespace logjam \\{", "\n" + walk[1] + "\nnamespace logjam {", &source);
    replace_only("\n    lock_.lock\\(\\);\n", "\n" + walk[2], &source);
    replace_only("\n\\}\\)\\);\n", "\n" + walk[3] + "}));\n", &source);
    std::ofstream(path) << source;
    const auto workload = code_blocks("docs/WORKLOADS.md", "## C++ in one file");
    ASSERT_EQ(workload.size(), 2u);
    fs::create_directory(tree_.path_of("workloads/transfer"));
    std::ofstream(tree_.path_of("workloads/transfer/transfer.cc")) << workload[0];
    workload_commands_ = workload[1];

    // build-thread is the directory of SAN=thread. The caller of make may choose another directory.
    const std::string suffix = name.substr(std::min(name.find('-') + 1, name.size()));
    const bool sanitized = suffix == "thread" || suffix == "address" || suffix == "undefined";
    const Ended built =
        shell("make --no-print-directory -C '" + tree_.path() + "' " + name + "/logjam" +
              (sanitized ? " SAN=" + suffix : " BUILD=" + name) + " 2>&1");
    ASSERT_EQ(built.status, 0) << built.output << source;
    program_ = tree_.path_of(name) + "/logjam";
    commands_ = walk[4];
  }

  const TemporaryDirectory tree_;
  // Runs commands of a page, but with the test's own program and paths, and short runs.
  Ended walk(std::string commands) const {
    commands = std::regex_replace(commands, std::regex("make[^\n]*\n"), "");
    commands = std::regex_replace(commands, std::regex("build/logjam "), program_ + " ");
    commands = std::regex_replace(commands, std::regex("build/history"), tree_.path_of("history"));
    commands = std::regex_replace(commands, std::regex("/var/tmp/logjam"), tree_.path_of("log"));
    commands = std::regex_replace(commands, std::regex("--seconds=5"), "--seconds=0.2 --warmup=0");
    return shell("{ set -e; " + commands + "} 2>&1");
  }

  std::string program_, commands_, workload_commands_;
};

TEST_F(CrashOfAnAddedScheme, OneFileIsListedCheckedRunKilledAndRecovered) {
  const Ended walked = walk(commands_);
  EXPECT_EQ(walked.status, 0) << commands_ << walked.output;
  EXPECT_NE(walked.output.find("\nrecovered "), std::string::npos) << commands_ << walked.output;
  const Ended transferred = walk(workload_commands_);
  EXPECT_EQ(transferred.status, 0) << workload_commands_ << transferred.output;
  EXPECT_NE(transferred.output.find("the sum of all balances stays"), std::string::npos)
      << transferred.output;

  const Ended refused =
      shell("'" + program_ + "' run --log=mine --mine_tries=1001 --device=null 2>&1");
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.output, "logjam: --mine_tries is at most 1000\n");

  // A crash round of `centr`, with the scheme replaced by `mine`. The run kills itself after some
  // acknowledgements. A kill by another process might come before the first acknowledgement.
  CrashRound round;
  for (uint64_t seed = 0; round.flags.scheme != "centr" || round.ends_by_itself; ++seed) {
    round = derive_round(seed);
  }
  round.flags.scheme = "mine";
  round.flags.die_after = 100;
  round.kill_after_ms = kPatienceMs;
  const CrashResult result = play(round, program_);
  EXPECT_TRUE(result.passed) << result.commands << result.report;
  EXPECT_GT(result.acknowledged, 0u) << result.commands << result.report;
}

}  // namespace
}  // namespace logjam
