// The columns of a run's row about the log's threads and syncs.
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

#include "tests/shell.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

// Returns the columns that `logjam run FLAGS` prints. An empty column is not printed.
std::map<std::string, std::string> row_of(const std::string& flags) {
  const TemporaryDirectory at;
  const auto [said, status] = shell(
      "\"$LOGJAM\" run --workload=tpcb --threads=2 --transactions=500 --log_buffer_mb=1 "
      "--log_prealloc_mb=1 --wal_dir=" +
      at.path_of("log") + " " + flags + " 2>&1");
  EXPECT_EQ(status, 0) << flags << "\n" << said;
  std::map<std::string, std::string> row;
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, value;
    words >> name >> value;
    row.emplace(name, value);
  }
  return row;
}

TEST(LogColumns, ThreadsOfTheLogAreCountedBesideTheWorkers) {
  const std::map<std::string, std::string> expected = {
      {"--log=none", "0"},
      {"--log=centr --device=null", "1"},
      {"--log=eleda --device=null", "2"},
      {"--log=pwal --device=null", "2"},
      {"--log=nvmd --device=null", "3"},
  };
  for (const auto& [flags, threads] : expected) {
    auto row = row_of(flags);
    EXPECT_EQ(row["threads_of_log"], threads) << flags;
    EXPECT_EQ(row["threads_in_all"], std::to_string(2 + std::stoi(threads))) << flags;
  }
}

TEST(LogColumns, TransactionsOfASyncAreEmptyWhereNothingIsSynced) {
  for (const char* flags : {"--log=centr --device=sync", "--log=scm --device=nvm"}) {
    auto row = row_of(flags);
    EXPECT_NEAR(std::stod(row["transactions_sync"]),
                std::stod(row["transactions"]) / std::stod(row["flushes"]), 0.005)
        << flags;
    EXPECT_GT(std::stod(row["flush_bytes_mean"]), 0) << flags;
  }
  for (const char* flags :
       {"--log=none", "--log=centr --device=null", "--log=centr --device=sync --sync=none"}) {
    EXPECT_FALSE(row_of(flags).contains("transactions_sync")) << flags;
  }
}

}  // namespace
}  // namespace logjam
