// The settings that follow from the flags. tests/golden/mistakes.txt has the refused flags.
#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/options.h"
#include "platform/memory.h"
#include "tests/command_error.h"
#include "tests/scoped_flags.h"
#include "tests/shell.h"
#include "tests/temporary_directory.h"

namespace logjam {
namespace {

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

TEST(Settings, TheSyncMethodIsThatOfTheFlagOrTheEnvironmentOrMeasured) {
  const char* const before = std::getenv("LOGJAM_SYNC");
  const std::string kept = before == nullptr ? "" : before;
  ScopedFlags flags;
  flags.set("device", "null");
  unsetenv("LOGJAM_SYNC");
  EXPECT_EQ(run_settings().log.sync, std::nullopt);
  setenv("LOGJAM_SYNC", "fsync", 1);
  EXPECT_EQ(run_settings().log.sync, SyncMethod::kFsync);
  flags.set("sync", "none");
  EXPECT_EQ(run_settings().log.sync, SyncMethod::kNone);
  EXPECT_EQ(unsafe_sync(run_settings().log), "") << "null has no method";
  flags.set("wal_dir", "/proc");  // on no disk
  for (const char* device : {"sync", "file", "faulty:file"}) {
    flags.set("device", device);
    EXPECT_EQ(unsafe_sync(run_settings().log), "sync none");
  }
  flags.set("sync", "auto");
  setenv("LOGJAM_SYNC", "never", 1);
  EXPECT_REFUSED(run_settings(), "LOGJAM_SYNC=never is not a sync method");
  before == nullptr ? unsetenv("LOGJAM_SYNC") : setenv("LOGJAM_SYNC", kept.c_str(), 1);
}

TEST(Settings, NoSyncIsSafeOnlyIfTheCacheIsProtectedAndTheFileSystemWritesInPlace) {
  struct Case {
    const char *cache, *type, *options;
    bool expected;
  };
  for (const Case& each : {Case{"write through", "ext4", "rw,relatime", true},
                           {"write through", "xfs", "rw,attr2", true},
                           {"write back", "ext4", "rw", false},
                           {"", "ext4", "rw", false},
                           {"write through", "ext4", "rw,data=journal", false},
                           {"write through", "btrfs", "rw", false},
                           {"write through", "tmpfs", "rw", false}}) {
    SCOPED_TRACE(std::string(each.cache) + " " + each.type + " " + each.options);
    platform::DiskFacts facts;
    facts.file_system = each.type;
    facts.mount_options = each.options;
    facts.write_cache = each.cache;
    EXPECT_EQ(keeps_without_sync(facts), each.expected);
  }
}

TEST(Settings, LocksTakesAChoiceAndATime) {
  ScopedFlags flags;
  flags.set("device", "null");
  flags.set("locks", "work_us:200");
  EXPECT_TRUE(run_settings().run.early_lock_release) << "the default choice";
  flags.set("locks", "all,work_us:200");
  const RunOptions run = run_settings().run;
  EXPECT_FALSE(run.early_lock_release);
  EXPECT_TRUE(run.keep_read_locks);
  EXPECT_EQ(run.work_ns, 200'000u);
}

TEST(Settings, AcceptsTheLargestNumberOfSlots) {
  ScopedFlags flags;
  flags.set("device", "null");
  flags.set("log", "aether-c");
  flags.set("aether_slots", 1024);
  run_settings();
}

// P-WAL has a stream for every worker, and a buffer for every stream.
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
  EXPECT_REFUSED(refuse_too_large(1 << 20, {64, buffer}),
                 "scale needs about 1 MiB, and the log needs [0-9]+ MiB .64 buffer.s. of "
                 "--log_buffer_mb., but only [0-9]+ MiB of memory are available");
  EXPECT_REFUSED(refuse_too_large(0, {64, buffer}), "^the log needs ");
  EXPECT_REFUSED(refuse_too_large(64 * buffer, {}), "needs about [0-9]+ MiB, but only [0-9]+ MiB");
  refuse_too_large(buffer, {4, buffer});
}

TEST(Settings, TakesFlagsOfOtherFormsAndFlagFiles) {
  refuse_bad_flags({"--threads=4", "--nobreakdown", "--log-dir=/tmp"});
  const TemporaryDirectory directory;
  const std::string file = directory.path_of("flags");
  std::ofstream(file) << "--threads=2\n\n--nobreakdown\n--wal_dir=a b\n";
  refuse_bad_flags({"--flagfile", file, "--seconds", "-0.5", "--verify", "--csv=", "--", "--x"});
}

}  // namespace
}  // namespace logjam
