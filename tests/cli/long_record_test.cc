// A long transaction beside short ones (--ycsb_long_rows), under every scheme. Its record is longer
// than a segment. If the log buffer can take the record, the transaction commits and is recovered;
// otherwise the run is refused before it starts.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>

#include "logging/format/record.h"
#include "logging/scheme_registry.h"
#include "proof/rounds/child.h"
#include "tests/logging/usable_device.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

constexpr uint32_t kRowBytes = 100;

class LongRecord : public testing::TestWithParam<const SchemeInfo*> {
 protected:
  LongRecord() { std::filesystem::create_directory(log_); }

  // Runs the program and returns its exit status.
  int logjam(std::vector<std::string> words) {
    words.insert(words.begin(), binary_under_test());
    words.push_back("--wal_dir=" + log_);
    const std::string output = directory_.path_of("out");
    Child child(words, output);
    EXPECT_TRUE(child.ended(kPatienceMs));
    std::ifstream in(output);
    said_ = {std::istreambuf_iterator<char>(in), {}};
    return child.exited_well() ? 0 : 1;
  }
  // Runs two workers with short transactions and one with long ones, `transactions` on each.
  int run(uint64_t long_rows, uint32_t transactions, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"run",
                                      "--workload=ycsb",
                                      "--ycsb_records=6000",
                                      "--ycsb_value_bytes=" + std::to_string(kRowBytes),
                                      "--ycsb_long_rows=" + std::to_string(long_rows),
                                      "--log=" + std::string(scheme_.name),
                                      "--device=" + usable_device(scheme_, "file"),
                                      "--threads=3",
                                      "--warmup=0",
                                      "--seconds=3600",
                                      "--transactions=" + std::to_string(transactions),
                                      "--history=" + history_,
                                      "--history_mb=64",
                                      "--test=log_segment_kb:16,log_buffer_kb:64"};
    words.insert(words.end(), more.begin(), more.end());
    return logjam(words);
  }
  // Expects that the run acknowledged `transactions` on each worker, and that all are recovered.
  void expect_all_there(uint32_t transactions) {
    EXPECT_EQ(value("long_transactions"), std::to_string(transactions)) << said_;
    EXPECT_EQ(value("transactions"), std::to_string(3 * transactions)) << said_;
    EXPECT_NE(value("long_commit_p99_us"), "");
    EXPECT_NE(value("short_commit_p99_us"), "");
    EXPECT_EQ(logjam({"recover", "--verify", "--threads=2", "--history=" + history_}), 0) << said_;
    EXPECT_EQ(said_.find("FAIL"), std::string::npos) << said_;
  }
  // Returns the value of a line `name value`, or "" without the line.
  std::string value(const std::string& name) const {
    std::smatch found;
    return std::regex_search(said_, found, std::regex("(?:^|\n)" + name + " +(.*)\n"))
               ? std::string(found[1])
               : "";
  }
  // Returns how many rows a transaction may update whose record has at most `most` bytes.
  uint64_t longest(uint64_t most) const {
    if (!scheme_.traits.commands) {
      return (most - sizeof(RecordHeader)) / (sizeof(WriteHeader) + padded_row(kRowBytes));
    }
    const uint64_t input = most - sizeof(RecordHeader) - sizeof(CommandHeader);
    return (input / sizeof(uint64_t) - 4) / 2;
  }

  const SchemeInfo& scheme_ = *GetParam();
  const TemporaryDirectory directory_;
  const std::string log_ = directory_.path_of("log"), history_ = directory_.path_of("history");
  std::string said_;
};

TEST_P(LongRecord, CommitsOrIsRefusedBeforeTheRun) {
  // Refused: 5000 rows or their keys are longer than the buffer.
  EXPECT_EQ(run(5000, 20), 1);
  std::smatch found;
  ASSERT_TRUE(std::regex_search(
      said_, found,
      std::regex("(?:^|\n)logjam: records of (\\d+) bytes exceed the (\\d+) that the log buffer "
                 "can take: raise --log_buffer_mb\n$")))
      << said_;
  EXPECT_EQ(said_.find("loaded"), std::string::npos) << said_;
  EXPECT_TRUE(std::filesystem::is_empty(log_)) << "a refused run changes nothing";
  const uint64_t most = std::stoull(found[2]);
  EXPECT_GT(most, 2u * 16384) << "the record would not be longer than a segment";

  // The longest transaction that fits commits, beside short ones, and is recovered.
  EXPECT_EQ(run(longest(most), 20), 0) << said_;
  expect_all_there(20);

  // With a row more, it does not fit.
  EXPECT_EQ(run(longest(most) + 1, 20, {"--overwrite"}), 1);
}

// With a record for each operation, a transaction's length has no limit.
TEST_P(LongRecord, CommitsInManyRecords) {
  if (scheme_.traits.commands) GTEST_SKIP() << "a command is one record";
  EXPECT_EQ(run(4097, 4, {"--log_records=op"}), 1);
  EXPECT_TRUE(
      said_.ends_with("logjam: --history records at most 4096 writes of a transaction, and "
                      "one has 4097\n"))
      << said_;
  EXPECT_TRUE(std::filesystem::is_empty(log_)) << "a refused run changes nothing";
  EXPECT_EQ(run(4096, 4, {"--log_records=op"}), 0) << said_;
  expect_all_there(4);
}

std::vector<const SchemeInfo*> schemes() {
  std::vector<const SchemeInfo*> all;
  for (const SchemeInfo& scheme : all_schemes()) {
    if (scheme.stream_count(1, LogConfig{}) != 0) all.push_back(&scheme);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Schemes, LongRecord, testing::ValuesIn(schemes()), [](const auto& info) {
  std::string name(info.param->name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace logjam
