// Mistakes of users get the whole message of tests/golden/mistakes.txt, and the exit status 2.
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "tests/shell.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

constexpr std::string_view kCommand = "$ logjam ";

// Returns each command line of the golden file with the expected answer.
std::vector<std::pair<std::string, std::string>> mistakes() {
  std::vector<std::pair<std::string, std::string>> all;
  std::ifstream in("tests/golden/mistakes.txt");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(kCommand)) {
      all.emplace_back(line.substr(kCommand.size()), "");
    } else if (!line.empty() && line[0] != '#') {
      all.back().second += line + "\n";
    }
  }
  return all;
}

// Runs each command line in bash, with an empty directory $D. Returns answers and exit statuses.
std::vector<std::string> answers() {
  const TemporaryDirectory directory;
  std::ofstream script(directory.path_of("script"));
  script << "settings() { [ \"$1\" != -- ] || shift; printf -- \"$1\" >$D/settings; "
         << "echo $D/settings; }\nD=" << directory.path_of("d") << "\n";
  for (const auto& [words, says] : mistakes()) {
    script << "rm -rf $D; mkdir $D; \"$LOGJAM\" " << words
           << " 2>&1 >/dev/null; printf '%s\\036' $?\n";
  }
  script.close();
  const std::string d = directory.path_of("d");
  std::string output = shell("bash " + directory.path_of("script")).output;
  for (size_t at; (at = output.find(d)) != std::string::npos;) output.replace(at, d.size(), "$D");
  std::vector<std::string> each;
  for (size_t begin = 0, end; (end = output.find('\036', begin)) != output.npos; begin = end + 1) {
    std::string answer = output.substr(begin, end - begin);
    answer.erase(0, answer.rfind("\nlogjam: ") + 1);  // glog may print lines before the message
    each.push_back(answer);
  }
  return each;
}

std::regex regex_of(const std::string& pattern) {
  std::string regex;
  for (const char c : pattern) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    regex += c == '*' ? std::string("[^\n]*") : (plain ? "" : "\\") + std::string(1, c);
  }
  return std::regex(regex);
}

TEST(Mistakes, EachGetsItsSentenceAndItsExitStatus) {
  const auto expected = mistakes();
  const std::vector<std::string> said = answers();
  ASSERT_EQ(said.size(), expected.size());
  ASSERT_GT(said.size(), 150u);
  for (size_t i = 0; i < said.size(); ++i) {
    const auto& [words, says] = expected[i];
    EXPECT_TRUE(std::regex_match(said[i], regex_of(says + "2"))) << words << "\n"
                                                                 << said[i] << "\nis not\n"
                                                                 << says << "2";
  }
}

}  // namespace
}  // namespace logjam
