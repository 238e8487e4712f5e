// The command line refuses settings that cannot work, with exit code 2 and one sentence.
#include "cli/settings.h"

#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include <fstream>

#include "cli/commands.h"
#include "cli/flag_text.h"
#include "platform/memory.h"
#include "tests/scoped_flags.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

void with(const std::vector<std::pair<const char*, const char*>>& flags) {
  for (const auto& [name, value] : flags) gflags::SetCommandLineOption(name, value);
  run_settings();
  std::exit(0);
}

void given(const std::vector<std::string>& arguments) {
  refuse_bad_flags(arguments);
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
  EXPECT_EXIT(with({{"log_records", "range"}}), refused, "both can be followed by ,range");
  EXPECT_EXIT(with({{"locks", "read"}}), refused, "early, write, all, hold_us are");
  EXPECT_EXIT(with({{"locks", "write,all"}}), refused, "it takes one of early, write and all");
  EXPECT_EXIT(with({{"locks", "early,hold_us:-1"}}), refused, "a whole number from 0 to 1000000");
  EXPECT_EXIT(with({{"device", "tape"}}), refused, "tape");
  EXPECT_EXIT(with({{"device", "sim:fast"}}), refused, "sim");
  EXPECT_EXIT(with({{"threads", "0"}}), refused, "outside 1 to");
  EXPECT_EXIT(with({{"seconds", "0"}}), refused, "more than 0");
  EXPECT_EXIT(with({{"placement", "smt:4096"}}), refused, "this process may not use core 4096");
  EXPECT_EXIT(with({{"placement", "smt:x"}}), refused,
              "the number of a core comes after the colon");
  EXPECT_EXIT(with({{"placement", "tight"}}), refused, "compact, scatter, smt and none are");
  for (const char* gap : {"automatic", "auto:", "auto:0", "auto:1000001", "1000001", "-1", "2x"}) {
    EXPECT_EXIT(with({{"flush_gap_us", gap}}), refused, "is not auto, auto:N with at least 1 us");
  }
  EXPECT_EXIT(with({{"log_prealloc_mb", "256:1025"}}), refused, "segments are of 1 to 1024 MiB");
  EXPECT_EXIT(with({{"log_prealloc_mb", "1x"}}), refused, "=1x is not a whole number, or two");
  EXPECT_EXIT(with({{"device", "null"}, {"test", "luck:1"}}), refused, "luck. is not a key");
}

TEST(SettingsTest, TheFlushGapIsFixedOrChosen) {
  ScopedFlags flags;
  flags.set("device", "null");
  flags.set("flush_gap_us", "70");
  EXPECT_EQ(run_settings().log.config.flush_gap_us, 70);
  EXPECT_FALSE(run_settings().log.config.chooses_gap);
  flags.set("flush_gap_us", "auto");
  EXPECT_TRUE(run_settings().log.config.chooses_gap);
  EXPECT_EQ(run_settings().log.config.gap_latency_us, 0);
  flags.set("flush_gap_us", "auto:900");
  EXPECT_TRUE(run_settings().log.config.chooses_gap);
  EXPECT_EQ(run_settings().log.config.gap_latency_us, 900);
}

TEST(SettingsTest, LocksTakesAChoiceAndATime) {
  ScopedFlags flags;
  flags.set("device", "null");
  flags.set("locks", "hold_us:200");
  EXPECT_TRUE(run_settings().run.early_lock_release) << "the default choice";
  flags.set("locks", "all,hold_us:200");
  const RunOptions run = run_settings().run;
  EXPECT_FALSE(run.early_lock_release);
  EXPECT_TRUE(run.keep_read_locks);
  EXPECT_EQ(run.hold_ns, 200'000u);
}

TEST(SettingsDeathTest, RefusesCombinationsThatCannotWork) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto refused = testing::ExitedWithCode(2);
  EXPECT_EXIT(with({{"log", "centr"}, {"device", "sync"}}), refused, "needs --wal_dir");
  EXPECT_EXIT(with({{"log", "scm"}, {"device", "sync"}, {"wal_dir", "/tmp"}}), refused,
              "needs --device=nvm.:NS., not --device=sync");
  EXPECT_EXIT(with({{"log_prealloc_mb", "32:8"}, {"device", "sim:10"}}), refused,
              "on --device=sim:10: only a log that is preallocated on device file or sync");
  EXPECT_EXIT(with({{"log_prealloc_mb", "0:8"}}), refused, "only a log that is preallocated");
  EXPECT_EXIT(with({{"device", "discard"}}), refused,
              "discard never makes a commit durable: only `logjam micro` takes it");
  EXPECT_EXIT(with({{"device", "null"}, {"flush", "bytes:4096"}}), refused, "needs us:N as well");
  EXPECT_EXIT(with({{"device", "null"}, {"flush", "bytes:4096,us:100"}}),
              testing::ExitedWithCode(0), "");
}

TEST(SettingsDeathTest, RefusesCombinationsWithALogOfCommands) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto refused = testing::ExitedWithCode(2);
  EXPECT_EXIT(with({{"device", "null"}, {"log", "command"}, {"log_records", "op"}}), refused,
              "log=command writes one command a transaction, which --log_records=op cannot split");
  EXPECT_EXIT(with({{"device", "null"}, {"log", "command"}, {"log_records", "txn,range"}}), refused,
              "log=command logs no rows, of which --log_records=txn,range could log the changed");
  EXPECT_EXIT(
      with({{"device", "null"}, {"log", "pwal"}, {"ack", "unsafe"}, {"log_records", "op,range"}}),
      refused, "op,range changes versions of rows that a log with --ack=unsafe may lose");
  EXPECT_EXIT(with({{"device", "null"}, {"log", "command"}}), testing::ExitedWithCode(0), "");
}

TEST(SettingsDeathTest, RefusesBadSizesOfTheLog) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto refused = testing::ExitedWithCode(2);
  for (const char* slots : {"0", "1025"}) {
    EXPECT_EXIT(with({{"device", "null"}, {"log", "aether-c"}, {"aether_slots", slots}}), refused,
                "aether_slots=.* is outside 1 to 1024");
  }
  EXPECT_EXIT(with({{"device", "null"}, {"log", "eleda"}, {"eleda_hop_bytes", "3000"}}), refused,
              "not a power of two");
  EXPECT_EXIT(with({{"device", "null"}, {"log", "poplar"}, {"poplar_segment_bytes", "512"}}),
              refused, "not a power of two");
  EXPECT_EXIT(with({{"device", "null"}, {"log", "aether-c"}, {"aether_slots", "1024"}}),
              testing::ExitedWithCode(0), "");
  EXPECT_EXIT(with({{"device", "null"}, {"log", "eleda"}, {"io_bytes", "512"}}), refused,
              "not a power of two");
  EXPECT_EXIT(with({{"device", "null"}, {"log", "pwal"}, {"ack", "soon"}}), refused,
              "ack=soon is neither safe nor unsafe");
}

void micro(std::vector<std::pair<const char*, const char*>> flags) {
  for (const auto& [name, value] :
       {std::pair{"device", "null"}, std::pair{"transactions", "100"}, std::pair{"threads", "1"}}) {
    gflags::SetCommandLineOption(name, value);
  }
  for (const auto& [name, value] : flags) gflags::SetCommandLineOption(name, value);
  std::exit(micro_command());
}

// Every worker of P-WAL has a buffer.
TEST(Settings, TheBuffersOfAllStreamsAreCounted) {
  ScopedFlags flags;
  flags.set("device", "null");
  flags.set("threads", 64);
  flags.set("log", "pwal");
  EXPECT_EQ(log_buffers(run_settings().log).bytes(), uint64_t{4} << 30);
  flags.set("log", "centr");
  EXPECT_EQ(log_buffers(run_settings().log).bytes(), uint64_t{64} << 20);
  flags.set("log", "none");
  EXPECT_EQ(log_buffers(run_settings().log).bytes(), 0u);
}

TEST(SettingsDeathTest, WhatDoesNotFitInMemoryIsRefused) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto refused = testing::ExitedWithCode(2);
  const uint64_t buffer = (platform::available_bytes() / 8) >> 20 << 20;
  EXPECT_EXIT(refuse_too_large(1 << 20, {64, buffer}), refused,
              "scale needs about 1 MiB, and the log needs [0-9]+ MiB .64 buffer.s. of "
              "--log_buffer_mb., but only [0-9]+ MiB of memory are available");
  EXPECT_EXIT(refuse_too_large(0, {64, buffer}), refused, "logjam: the log needs ");
  EXPECT_EXIT(refuse_too_large(64 * buffer, {}), refused,
              "needs about [0-9]+ MiB, but only [0-9]+ MiB");
  refuse_too_large(buffer, {4, buffer});
}

TEST(SettingsDeathTest, TransactionsAreCountedWithoutAWarmUp) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(with({{"device", "null"}, {"transactions", "10"}, {"warmup", "2"}}),
              testing::ExitedWithCode(2), "--transactions .* so --warmup cannot go with it");
  ScopedFlags flags;
  flags.set("device", "null");
  flags.set("transactions", 10);
  EXPECT_EQ(run_settings().run.warmup_seconds, 0);
}

TEST(SettingsDeathTest, RefusesBadFlagsOfMicro) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto refused = testing::ExitedWithCode(2);
  EXPECT_EXIT(micro({{"record_bytes", "12"}}), refused, "not a multiple of 8");
  EXPECT_EXIT(micro({{"record_bytes", "large"}}), refused, "neither a number of bytes nor dist:");
  EXPECT_EXIT(micro({{"record_bytes", "48:9"}}), refused, "the outlier 9 is not a multiple");
  EXPECT_EXIT(micro({{"fill", "sand"}}), refused, "bytes, records and local are");
  EXPECT_EXIT(micro({{"floor", "sea"}}), refused, "copy and fetch-add are");
  EXPECT_EXIT(micro({{"log", "none"}}), refused, "has no buffer to insert into");
  EXPECT_EXIT(micro({{"commit", "async"}}), refused, "nothing would be acknowledged");
  EXPECT_EXIT(micro({{"fill", "records"}, {"record_bytes", "40"}}), refused, "at least 48");
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
  EXPECT_EXIT(given({"--threads=4", "--nobreakdown", "--log-dir=/tmp"}), testing::ExitedWithCode(0),
              "");
}

TEST(SettingsDeathTest, OldFlagsAreRefusedWithTheirNewNames) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto refused = testing::ExitedWithCode(2);
  EXPECT_EXIT(given({"run", "--hop_bytes=4"}), refused,
              "^logjam: --hop_bytes is --eleda_hop_bytes now\n$");
  EXPECT_EXIT(given({"--noelr"}), refused, "^logjam: --elr is --locks=early, or for false ");
  EXPECT_EXIT(given({"--ycsb_prefetch"}), refused, "^logjam: --ycsb_prefetch is gone: ");
  EXPECT_EXIT(given({"--cores=4"}), refused, "is a flag of build-sim/logjam, which `make sim`");
  const TemporaryDirectory directory;
  const std::string file = directory.path_of("flags");
  std::ofstream(file) << "--epoch_ms=40\n";
  EXPECT_EXIT(given({"--flagfile", file}), refused, "--epoch_ms is --silo_epoch_ms now");
}

TEST(SettingsDeathTest, MalformedValuesAreRefusedInOneSentence) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto refused = testing::ExitedWithCode(2);
  EXPECT_EXIT(given({"run", "--seconds=abc"}), refused,
              "^logjam: --seconds=abc is not a number\n$");
  EXPECT_EXIT(given({"--seconds", "1s"}), refused, "--seconds=1s is not a number");
  EXPECT_EXIT(given({"--threads=-1"}), refused, "--threads=-1 is not a whole number from 0 to 42");
  EXPECT_EXIT(given({"--threads=5000000000"}), refused, "--threads=5000000000 is not a whole");
  EXPECT_EXIT(given({"--verify=perhaps"}), refused, "--verify=perhaps is not true or false");
  EXPECT_EXIT(given({"--verify", "--seed"}), refused, "--seed needs a value");
  EXPECT_EXIT(given({"--flagfile=/no/such/file"}), refused, "cannot read --flagfile=/no/such/file");
  EXPECT_EXIT(with({{"device", "null"}, {"seconds", "1e300"}}), refused, "at most 1e9");
  const TemporaryDirectory directory;
  const std::string file = directory.path_of("flags");
  std::ofstream(file) << "# a comment\n--threads=2\n  --seconds=2,5\n";
  EXPECT_EXIT(given({"--flagfile", file}), refused, "--seconds=2,5 is not a number");
  std::ofstream(file) << "--thraeds=2\n";
  EXPECT_EXIT(given({"--flagfile", file}), refused, "did you mean --threads");
  std::ofstream(file) << "--flagfile=" << file << "\n";
  EXPECT_EXIT(given({"--flagfile", file}), refused, "is nested too deeply");
  std::ofstream(file) << "--threads=2\n\n--nobreakdown\n--wal_dir=a b\n";
  EXPECT_EXIT(given({"--flagfile", file, "--seconds", "-0.5", "--verify", "--csv=", "--", "--x"}),
              testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace logjam
