// The command line refuses settings that cannot work, with exit code 2 and one sentence.
#include "cli/settings.h"

#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include "cli/commands.h"

namespace logjam {
namespace {

void with(const std::vector<std::pair<const char*, const char*>>& flags) {
  for (const auto& [name, value] : flags) gflags::SetCommandLineOption(name, value);
  run_settings();
  std::exit(0);
}

void read_a_log(const char* device) {
  gflags::SetCommandLineOption("device", device);
  gflags::SetCommandLineOption("wal_dir", "log");
  wal_directories();
  std::exit(0);
}

void given(const std::vector<const char*>& arguments) {
  std::vector<char*> argv = {const_cast<char*>("logjam"), const_cast<char*>("run")};
  for (const char* argument : arguments) argv.push_back(const_cast<char*>(argument));
  refuse_unknown_flags(static_cast<int>(argv.size()), argv.data());
  std::exit(0);
}

TEST(SettingsDeathTest, RefusalsNameTheAllowedValues) {
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

TEST(SettingsDeathTest, RefusesCombinationsThatCannotWork) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto refused = testing::ExitedWithCode(2);
  EXPECT_EXIT(with({{"log", "centr"}, {"device", "sync"}}), refused, "needs --wal_dir");
  EXPECT_EXIT(with({{"log", "scm"}, {"device", "sync"}, {"wal_dir", "/tmp"}}), refused,
              "needs --device=nvm.:NS., not --device=sync");
  EXPECT_EXIT(with({{"device", "discard"}}), refused,
              "discard never makes a commit durable: only `logjam micro` takes it");
  EXPECT_EXIT(read_a_log("discard"), refused, "discard leaves no log to read");
  EXPECT_EXIT(read_a_log("file"), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(with({{"device", "null"}, {"flush_bytes", "4096"}}), refused, "need --flush_us");
  EXPECT_EXIT(with({{"device", "null"}, {"flush_bytes", "4096"}, {"flush_us", "100"}}),
              testing::ExitedWithCode(0), "");
}

TEST(SettingsDeathTest, RefusesCombinationsWithALogOfCommands) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto refused = testing::ExitedWithCode(2);
  EXPECT_EXIT(with({{"device", "null"}, {"log", "command"}, {"log_records", "op"}}), refused,
              "log=command writes one command a transaction, which --log_records=op cannot split");
  EXPECT_EXIT(with({{"device", "null"}, {"log", "command"}}), testing::ExitedWithCode(0), "");
}

TEST(SettingsDeathTest, RefusesBadSizesOfTheLog) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto refused = testing::ExitedWithCode(2);
  for (const char* slots : {"0", "1025"}) {
    EXPECT_EXIT(with({{"device", "null"}, {"log", "aether-c"}, {"carray_slots", slots}}), refused,
                "carray_slots=.* is outside 1 to 1024");
  }
  EXPECT_EXIT(with({{"device", "null"}, {"log", "eleda"}, {"hop_bytes", "3000"}}), refused,
              "not a power of two");
  EXPECT_EXIT(with({{"device", "null"}, {"log", "poplar"}, {"io_unit_bytes", "512"}}), refused,
              "not a power of two");
  EXPECT_EXIT(with({{"device", "null"}, {"log", "aether-c"}, {"carray_slots", "1024"}}),
              testing::ExitedWithCode(0), "");
  EXPECT_EXIT(with({{"device", "null"}, {"log", "pwal"}, {"pwal_ngroup", "0"}}), refused,
              "must be at least 1");
  EXPECT_EXIT(with({{"device", "null"}, {"log", "pwal"}, {"pwal_ack", "soon"}}), refused,
              "safe and unsafe are");
}

void micro(std::vector<std::pair<const char*, const char*>> flags) {
  for (const auto& [name, value] :
       {std::pair{"device", "null"}, std::pair{"inserts", "100"}, std::pair{"threads", "1"}}) {
    gflags::SetCommandLineOption(name, value);
  }
  for (const auto& [name, value] : flags) gflags::SetCommandLineOption(name, value);
  std::exit(micro_command());
}

TEST(SettingsDeathTest, RefusesBadFlagsOfMicro) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto refused = testing::ExitedWithCode(2);
  EXPECT_EXIT(micro({{"record_bytes", "12"}}), refused, "not a multiple of 8");
  EXPECT_EXIT(micro({{"record_bytes", "large"}}), refused, "neither a number of bytes nor dist:");
  EXPECT_EXIT(micro({{"outlier_bytes", "9"}}), refused, "outlier_bytes: 9 is not a multiple");
  EXPECT_EXIT(micro({{"floor", "sea"}}), refused, "copy and fetch-add are");
  EXPECT_EXIT(micro({{"log", "none"}}), refused, "has no buffer to insert into");
  EXPECT_EXIT(micro({{"commit", "async"}}), refused, "nothing would be acknowledged");
  EXPECT_EXIT(micro({{"seal", "true"}, {"record_bytes", "40"}}), refused, "at least 48");
  EXPECT_EXIT(micro({{"cdf", "x"}}), refused, "needs --logs_per_commit");
  EXPECT_EXIT(micro({{"record_bytes", "1048576"}, {"log_buffer_mb", "1"}}), refused,
              "raise --log_buffer_mb");
  EXPECT_EXIT(micro({{"device", "discard"}, {"logs_per_commit", "1"}}), refused,
              "never makes a commit durable: it needs --logs_per_commit=0");
  EXPECT_EXIT(micro({{"device", "discard"}, {"flush_help", "false"}}), refused,
              "it needs --flush_help");
  EXPECT_EXIT(micro({{"device", "discard"}, {"log", "silo"}}), refused,
              "has no flusher, on which the several streams of --log=silo depend");
  EXPECT_EXIT(micro({{"device", "discard"}, {"log", "aether-cd"}}), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(micro({}), testing::ExitedWithCode(0), "");
}

TEST(SettingsDeathTest, UnknownFlagsGetTheNearestName) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(given({"--thread=4"}), testing::ExitedWithCode(2), "did you mean --threads");
  EXPECT_EXIT(given({"--threads=4", "--noelr", "--log-dir=/tmp"}), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace logjam
