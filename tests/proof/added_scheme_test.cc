// One new file adds a log scheme. The test adds the scheme `mine` to a copy of the source tree with
// the code and the steps of CONTRIBUTING.md, and changes no other file. The program built from the
// copy lists the scheme, checks the scheme's flag, runs the scheme, and recovers after kill -9.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "proof/rounds/child.h"
#include "proof/rounds/crash_round.h"
#include "tests/shell.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

namespace fs = std::filesystem;

fs::path root() {
  const char* given = std::getenv("LOGJAM_ROOT");
  return fs::absolute(given == nullptr ? "." : given);
}

// Returns the blocks of code below a heading of a page, without indentation. A block is indented by
// at least four columns more than its list item.
std::vector<std::string> code_blocks(const std::string& page, const std::string& heading) {
  std::ifstream file(root() / page);
  std::string line;
  while (std::getline(file, line) && line != heading) {
  }
  std::vector<std::string> blocks;
  size_t indentation = 0;  // the indentation of the present block; 0 outside a block
  std::string blank;       // blank lines, which belong to the block if the block continues
  while (std::getline(file, line) && !line.starts_with("## ")) {
    const size_t spaces = std::min(line.find_first_not_of(' '), line.size());
    if (line.empty()) {
      blank += "\n";
    } else if (indentation != 0 && spaces >= indentation) {
      blocks.back() += blank + line.substr(indentation) + "\n";
      blank.clear();
    } else {
      indentation = spaces < 4 ? 0 : spaces;
      if (indentation != 0) blocks.push_back(line.substr(indentation) + "\n");
      blank.clear();
    }
  }
  return blocks;
}

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
  std::string program_, commands_;
};

TEST_F(CrashOfAnAddedScheme, OneFileIsListedCheckedRunKilledAndRecovered) {
  // Step 3 of the page, but with the test's own paths and a short run.
  std::string commands = std::regex_replace(commands_, std::regex("build/logjam "), program_ + " ");
  commands = std::regex_replace(commands, std::regex("/var/tmp/logjam"), tree_.path_of("log"));
  commands = std::regex_replace(commands, std::regex("--seconds=5"), "--seconds=0.2 --warmup=0");
  const Ended walked = shell("{ set -e; " + commands + "} 2>&1");
  EXPECT_EQ(walked.status, 0) << commands << walked.output;
  EXPECT_NE(walked.output.find("\nrecovered "), std::string::npos) << commands << walked.output;

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
