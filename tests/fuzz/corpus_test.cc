// Each file of tests/fuzz/corpus/TARGET/ is an input of the target TARGET. The files are seeds from
// logs that the program has written, inputs that reach new code of a parser, and inputs with which
// the parser once failed. `make fuzz` begins with these files.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "platform/fatal.h"
#include "tests/command_error.h"
#include "tests/fuzz/target.h"

namespace logjam::fuzz {
namespace {

namespace fs = std::filesystem;

fs::path corpus() {
  const char* root = std::getenv("LOGJAM_ROOT");
  return fs::path(root == nullptr ? "." : root) / "tests/fuzz/corpus";
}

std::vector<std::byte> content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Input bytes = bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

// Runs the inputs from index `first` on in a child process, until an input ends the process.
// Returns the child's status, and sets `*reached` to the index of this input.
int run_from(const FuzzTarget& target, const std::vector<fs::path>& files, size_t first,
             size_t* reached) {
  *reached = first;
  const pid_t child = fork();
  if (child == 0) {
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    as_main([&] {
      for (; *reached < files.size(); ++*reached) target.run(content_of(files[*reached]));
    });
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) != child) continue;
  return status;
}

class FuzzCorpus : public testing::TestWithParam<FuzzTarget> {};

TEST_P(FuzzCorpus, EachInputIsReadOrRefused) {
  const FuzzTarget& target = GetParam();
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(corpus() / target.name)) {
    files.push_back(entry.path());
  }
  std::ranges::sort(files);
  ASSERT_FALSE(files.empty());
  // In shared memory, because the child process writes the index of the input that it runs.
  void* const shared =
      mmap(nullptr, sizeof(size_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const reached = new (shared) size_t(0);
  for (size_t first = 0; first < files.size(); first = *reached + 1) {
    const int status = run_from(target, files, first, reached);
    if (*reached == files.size()) break;
    const std::string which = files[*reached].string();
    ASSERT_TRUE(WIFEXITED(status)) << which << " ends the process by signal " << WTERMSIG(status);
    const std::set<int> sentences = {platform::kExitBadInput, platform::kExitFailed,
                                     platform::kExitViolation};
    EXPECT_TRUE(sentences.contains(WEXITSTATUS(status))) << which << ": " << WEXITSTATUS(status);
  }
  munmap(shared, sizeof(size_t));
}

INSTANTIATE_TEST_SUITE_P(All, FuzzCorpus, testing::ValuesIn(FuzzTargets::all()),
                         [](const auto& info) {
                           std::string name(info.param.name);
                           std::erase(name, '-');
                           return name;
                         });

TEST(FuzzCorpus, BelongsToTargets) {
  for (const auto& entry : fs::directory_iterator(corpus())) {
    EXPECT_NE(FuzzTargets::find(entry.path().filename().string()), nullptr) << entry.path();
  }
}

}  // namespace
}  // namespace logjam::fuzz
