// What the command line refuses, and how it says so.
#include "cli/settings.h"

#include <gflags/gflags.h>
#include <gtest/gtest.h>

namespace logjam {
namespace {

void with(const std::vector<std::pair<const char*, const char*>>& flags) {
  for (const auto& [name, value] : flags) gflags::SetCommandLineOption(name, value);
  run_settings();
  std::exit(0);
}

void given(const std::vector<const char*>& arguments) {
  std::vector<char*> argv = {const_cast<char*>("logjam"), const_cast<char*>("run")};
  for (const char* argument : arguments) argv.push_back(const_cast<char*>(argument));
  refuse_unknown_flags(static_cast<int>(argv.size()), argv.data());
  std::exit(0);
}

TEST(SettingsDeathTest, NamesWhatIsAllowed) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto refused = testing::ExitedWithCode(2);
  EXPECT_EXIT(with({{"workload", "bank"}}), refused, "bank is not a workload; .*ycsb.* are");
  EXPECT_EXIT(with({{"cc", "mvcc"}}), refused, "mvcc is not a protocol; .*occ.* are");
  EXPECT_EXIT(with({{"log", "paper"}}), refused, "paper is not a scheme; .*centr.* are");
  EXPECT_EXIT(with({{"commit", "never"}}), refused, "sync, pipelined and async are");
  EXPECT_EXIT(with({{"log_records", "page"}}), refused, "txn and op are");
  EXPECT_EXIT(with({{"device", "tape"}}), refused, "tape");
  EXPECT_EXIT(with({{"device", "sim:fast"}}), refused, "sim");
  EXPECT_EXIT(with({{"threads", "0"}}), refused, "outside 1 to");
  EXPECT_EXIT(with({{"seconds", "0"}}), refused, "more than 0");
}

TEST(SettingsDeathTest, CombinationsThatCannotWork) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto refused = testing::ExitedWithCode(2);
  EXPECT_EXIT(with({{"log", "centr"}, {"device", "sync"}}), refused, "needs --log_dir");
  EXPECT_EXIT(with({{"device", "null"}, {"flush_bytes", "4096"}}), refused, "need --flush_us");
  EXPECT_EXIT(with({{"device", "null"}, {"flush_bytes", "4096"}, {"flush_us", "100"}}),
              testing::ExitedWithCode(0), "");
}

TEST(SettingsDeathTest, UnknownFlagsGetTheNearestName) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(given({"--thread=4"}), testing::ExitedWithCode(2), "did you mean --threads");
  EXPECT_EXIT(given({"--threads=4", "--noelr", "--log-dir=/tmp"}), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace logjam
