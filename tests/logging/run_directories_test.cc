// The runs of a log in its directories.
#include "logging/format/run_directories.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/logging/log_fixture.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

namespace fs = std::filesystem;

class RunDirectories : public testing::Test {
 protected:
  RunDirectories() : directories_{directory_.path_of("a"), directory_.path_of("b")} {
    for (const std::string& one : directories_) fs::create_directory(one);
  }

  // Writes the headers of a run with a stream in each directory.
  void write_run(uint32_t ordinal, uint64_t run, uint64_t after, uint32_t streams = 2) {
    const auto of_run = run_directories(directories_, ordinal);
    for (uint32_t stream = 0; stream < streams; ++stream) {
      fs::create_directories(of_run[stream]);
      LogFileHeader header;
      header.scheme = "poplar";
      header.stream = stream;
      header.streams = 2;
      header.run = run;
      header.ordinal = ordinal;
      header.first_run = 1;
      header.after = after;
      header.after_bytes = 192;
      const auto block = header.encode();
      std::ofstream(log_file_path(of_run[stream], stream), std::ios::binary)
          .write(reinterpret_cast<const char*>(block.data()),
                 static_cast<std::streamsize>(block.size()));
    }
  }

  const TemporaryDirectory directory_;
  const std::vector<std::string> directories_;
};

TEST_F(RunDirectories, RunsAreFoundInTheirOrderWithWhatTheyContinue) {
  write_run(1, 1, 0);
  write_run(2, 22, 1);
  write_run(3, 33, 22);
  const Runs all = find_runs({directories_[1], directories_[0]}, 1, 0);
  ASSERT_EQ(all.error, "");
  ASSERT_EQ(all.runs.size(), 3u);
  EXPECT_EQ(all.runs[2].header.after, 22u);
  EXPECT_EQ(all.runs[2].header.after_bytes, 192u);
  EXPECT_EQ(find_runs(directories_, 2, 1).runs.size(), 2u);
  EXPECT_EQ(first_run_in(directories_), 1u);
}

TEST_F(RunDirectories, ARunThatHadNotBegunDoesNotCount) {
  write_run(1, 1, 0);
  for (const std::string& one : run_directories(directories_, 2)) {
    fs::create_directory(one);
    std::ofstream(log_file_path(one, 0)) << std::string(8192, '\0');
  }
  EXPECT_FALSE(later_run_began(directories_, 2));
  const Runs all = find_runs(directories_, 1, 0);
  EXPECT_EQ(all.error, "");
  EXPECT_EQ(all.runs.size(), 1u);
}

TEST_F(RunDirectories, ALaterRunThatLacksAFileIsRefused) {
  write_run(1, 1, 0);
  write_run(2, 22, 1, 1);
  EXPECT_NE(find_runs(directories_, 1, 0).error.find("run 2 of the log cannot be used: stream 1"),
            std::string::npos);
}

TEST_F(RunDirectories, ARunThatIsMissingInBetweenIsRefused) {
  write_run(1, 1, 0);
  write_run(3, 33, 22);
  EXPECT_NE(find_runs(directories_, 1, 0).error.find("run 2 of the log cannot be used"),
            std::string::npos);
  write_run(2, 21, 1);
  EXPECT_NE(find_runs(directories_, 1, 0).error.find("continues run 16, which does not exist"),
            std::string::npos);
}

TEST_F(RunDirectories, ARemovedRunLeavesTheOthers) {
  write_run(1, 1, 0);
  write_run(2, 22, 1);
  std::ofstream(log_file_path(directories_[0], 0) + ".1") << "segment";
  ASSERT_EQ(remove_run(directories_, 1), 0);
  EXPECT_TRUE(log_files(directories_[0]).empty());
  EXPECT_EQ(find_runs(directories_, 2, 1).runs.size(), 1u);
  ASSERT_EQ(remove_run(directories_, 2), 0);
  EXPECT_TRUE(later_runs_in(directories_).empty());
}

}  // namespace
}  // namespace logjam
