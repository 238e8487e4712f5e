// The command line refuses settings that cannot work, with exit code 2 and one sentence.
#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/options.h"
#include "platform/memory.h"
#include "tests/scoped_flags.h"
#include "tests/shell.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

using Flags = std::vector<std::pair<const char*, const char*>>;

// Runs a command of the built program, and returns what it says on stderr.
Ended given(const std::vector<std::string>& words) {
  std::string line = "\"$LOGJAM\"";
  for (const std::string& word : words) line += " '" + word + "'";
  return shell(line + " 2>&1 >/dev/null");
}

Ended with(const char* command, const Flags& flags) {
  std::vector<std::string> words{command};
  for (const auto& [name, value] : flags) words.push_back(std::string("--") + name + "=" + value);
  return given(words);
}

Ended run(const Flags& flags) { return with("run", flags); }

Ended micro(Flags flags) {
  flags.insert(flags.begin(), {{"device", "null"}, {"transactions", "100"}, {"threads", "1"}});
  return with("micro", flags);
}

void refuses(const Ended& ended, const char* sentence) {
  EXPECT_EQ(ended.status, 2) << sentence;
  EXPECT_TRUE(std::regex_search(ended.output, std::regex(sentence)))
      << ended.output << "is not: " << sentence;
}

void accepts(const Flags& flags) {
  ScopedFlags scoped;
  for (const auto& [name, value] : flags) scoped.set(name, std::string(value));
  run_settings();
}

TEST(Settings, RefusalsNameTheAllowedValues) {
  refuses(run({{"workload", "bank"}}), "bank is not a workload; allowed are .*tpcc.* and ycsb\n");
  refuses(run({{"cc", "mvcc"}}), "mvcc is not a protocol; allowed are .* and occ\n");
  refuses(run({{"log", "paper"}}), "paper is not a scheme; allowed are .*centr.* and ");
  refuses(run({{"commit", "never"}}),
          "never is not a policy; allowed are sync, pipelined and async\n");
  refuses(run({{"log_records", "page"}}), "allowed are txn, op, and either of them with ,range");
  refuses(run({{"log_records", "range"}}), "either of them with ,range");
  refuses(run({{"locks", "read"}}), "allowed are early, write, all and hold_us");
  refuses(run({{"locks", "write,all"}}), "it takes one of early, write and all");
  refuses(run({{"locks", "early,hold_us:-1"}}), "a whole number from 0 to 1000000");
  refuses(run({{"device", "tape"}}), "tape is not a device; allowed are .*file.* sim:LATENCY_US");
  refuses(run({{"device", "sim:fast"}}), "LATENCY_US is a number .* not .fast");
  refuses(run({{"threads", "0"}}), "outside 1 to");
  refuses(run({{"seconds", "0"}}), "more than 0");
  refuses(run({{"placement", "smt:4096"}}), "this process may not use core 4096");
  refuses(run({{"placement", "smt:x"}}), "the number of a core comes after the colon");
  refuses(run({{"placement", "tight"}}), "allowed are compact, scatter, smt and none");
  for (const char* gap : {"automatic", "auto:", "auto:0", "auto:1000001", "1000001", "-1", "2x"}) {
    refuses(run({{"flush_gap_us", gap}}), "is not auto, auto:N with at least 1 us");
  }
  refuses(run({{"log_prealloc_mb", "256:1025"}}), "segments are of 1 to 1024 MiB");
  refuses(run({{"log_prealloc_mb", "1x"}}), "=1x is not a whole number, or two");
  refuses(run({{"device", "null"}, {"test", "luck:1"}}), "luck. is not a key");
}

TEST(Settings, TheFlushGapIsFixedOrChosen) {
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

TEST(Settings, LocksTakesAChoiceAndATime) {
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

TEST(Settings, RefusesCombinationsThatCannotWork) {
  refuses(run({{"log", "centr"}, {"device", "sync"}}), "needs --wal_dir");
  refuses(run({{"log", "scm"}, {"device", "sync"}, {"wal_dir", "/tmp"}}),
          "needs --device=nvm.:NS., not --device=sync");
  refuses(run({{"log_prealloc_mb", "32:8"}, {"device", "sim:10"}}),
          "on --device=sim:10: only a log that is preallocated on device file or sync");
  refuses(run({{"log_prealloc_mb", "0:8"}}), "only a log that is preallocated");
  refuses(run({{"device", "discard"}}),
          "discard never makes a commit durable: only `logjam micro` takes it");
  refuses(run({{"device", "null"}, {"flush", "bytes:4096"}}), "needs us:N as well");
  accepts({{"device", "null"}, {"flush", "bytes:4096,us:100"}});
}

TEST(Settings, RefusesCombinationsWithALogOfCommands) {
  refuses(run({{"device", "null"}, {"log", "command"}, {"log_records", "op"}}),
          "log=command writes one command a transaction, which --log_records=op cannot split");
  refuses(run({{"device", "null"}, {"log", "command"}, {"log_records", "txn,range"}}),
          "log=command logs no rows, of which --log_records=txn,range could log the changed");
  refuses(
      run({{"device", "null"}, {"log", "pwal"}, {"ack", "unsafe"}, {"log_records", "op,range"}}),
      "op,range changes versions of rows that a log with --ack=unsafe may lose");
  accepts({{"device", "null"}, {"log", "command"}});
}

TEST(Settings, RefusesBadSizesOfTheLog) {
  for (const char* slots : {"0", "1025"}) {
    refuses(run({{"device", "null"}, {"log", "aether-c"}, {"aether_slots", slots}}),
            "aether_slots=.* is outside 1 to 1024");
  }
  refuses(run({{"device", "null"}, {"log", "eleda"}, {"eleda_hop_bytes", "3000"}}),
          "not a power of two");
  refuses(run({{"device", "null"}, {"log", "poplar"}, {"poplar_segment_bytes", "512"}}),
          "not a power of two");
  accepts({{"device", "null"}, {"log", "aether-c"}, {"aether_slots", "1024"}});
  refuses(run({{"device", "null"}, {"log", "eleda"}, {"io_bytes", "512"}}), "not a power of two");
  refuses(run({{"device", "null"}, {"log", "pwal"}, {"ack", "soon"}}),
          "ack=soon is neither safe nor unsafe");
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
  const uint64_t buffer = (platform::available_bytes() / 8) >> 20 << 20;
  const auto refused = testing::ExitedWithCode(2);
  EXPECT_EXIT(refuse_too_large(1 << 20, {64, buffer}), refused,
              "scale needs about 1 MiB, and the log needs [0-9]+ MiB .64 buffer.s. of "
              "--log_buffer_mb., but only [0-9]+ MiB of memory are available");
  EXPECT_EXIT(refuse_too_large(0, {64, buffer}), refused, "logjam: the log needs ");
  EXPECT_EXIT(refuse_too_large(64 * buffer, {}), refused,
              "needs about [0-9]+ MiB, but only [0-9]+ MiB");
  refuse_too_large(buffer, {4, buffer});
}

TEST(Settings, TransactionsAreCountedWithoutAWarmUp) {
  refuses(run({{"device", "null"}, {"transactions", "10"}, {"warmup", "2"}}),
          "--transactions .* so --warmup cannot go with it");
  ScopedFlags flags;
  flags.set("device", "null");
  flags.set("transactions", 10);
  EXPECT_EQ(run_settings().run.warmup_seconds, 0);
}

TEST(Settings, RefusesBadFlagsOfMicro) {
  refuses(micro({{"record_bytes", "12"}}), "not a multiple of 8");
  refuses(micro({{"record_bytes", "large"}}), "neither a number of bytes nor dist:");
  refuses(micro({{"record_bytes", "48:9"}}), "the outlier 9 is not a multiple");
  refuses(micro({{"fill", "sand"}}), "allowed are bytes, records and local");
  refuses(micro({{"floor", "sea"}}), "allowed are copy and fetch-add");
  refuses(micro({{"log", "none"}}), "has no buffer to insert into");
  refuses(micro({{"commit", "async"}}), "nothing would be acknowledged");
  refuses(micro({{"fill", "records"}, {"record_bytes", "40"}}), "at least 48");
  refuses(micro({{"cdf", "x"}}), "needs --logs_per_commit");
  refuses(micro({{"record_bytes", "1048576"}, {"log_buffer_mb", "1"}}), "raise --log_buffer_mb");
  refuses(micro({{"device", "discard"}, {"logs_per_commit", "1"}}),
          "never makes a commit durable: it needs --logs_per_commit=0");
  refuses(micro({{"device", "discard"}, {"flush_help", "false"}}), "it needs --flush_help");
  refuses(micro({{"device", "discard"}, {"log", "silo"}}),
          "has no flusher, on which the several streams of --log=silo depend");
  EXPECT_EQ(micro({{"device", "discard"}, {"log", "aether-cd"}}).status, 0);
  EXPECT_EQ(micro({}).status, 0);
}

TEST(Settings, UnknownFlagsGetTheNearestName) {
  refuses(given({"run", "--thread=4"}), "did you mean --threads");
  refuse_bad_flags({"--threads=4", "--nobreakdown", "--log-dir=/tmp"});
}

TEST(Settings, MalformedValuesAreRefusedInOneSentence) {
  refuses(given({"run", "--seconds=abc"}), "^logjam: --seconds=abc is not a number\n$");
  refuses(given({"run", "--seconds", "1s"}), "--seconds=1s is not a number");
  refuses(given({"run", "--threads=-1"}), "--threads=-1 is not a whole number from 0 to 42");
  refuses(given({"run", "--threads=5000000000"}), "--threads=5000000000 is not a whole");
  refuses(given({"run", "--verify=perhaps"}), "--verify=perhaps is not true or false");
  refuses(given({"run", "--verify", "--seed"}), "--seed needs a value");
  refuses(given({"run", "--flagfile=/no/such/file"}), "cannot read --flagfile=/no/such/file");
  refuses(run({{"device", "null"}, {"seconds", "1e300"}}), "at most 1e9");
  const TemporaryDirectory directory;
  const std::string file = directory.path_of("flags");
  std::ofstream(file) << "# a comment\n--threads=2\n  --seconds=2,5\n";
  refuses(given({"run", "--flagfile", file}), "--seconds=2,5 is not a number");
  std::ofstream(file) << "--thraeds=2\n";
  refuses(given({"run", "--flagfile", file}), "did you mean --threads");
  std::ofstream(file) << "--flagfile=" << file << "\n";
  refuses(given({"run", "--flagfile", file}), "is nested too deeply");
  std::ofstream(file) << "--threads=2\n\n--nobreakdown\n--wal_dir=a b\n";
  refuse_bad_flags({"--flagfile", file, "--seconds", "-0.5", "--verify", "--csv=", "--", "--x"});
}

}  // namespace
}  // namespace logjam
