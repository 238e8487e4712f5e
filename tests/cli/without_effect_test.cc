// Flags that have no effect in a run, and the scheme or workload that owns each flag.
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/flags.h"
#include "cli/options.h"
#include "platform/nearest_name.h"
#include "tests/scoped_flags.h"
#include "tests/shell.h"

namespace logjam {
namespace {

using Flags = std::vector<std::pair<const char*, const char*>>;

std::string of_run(const Flags& flags) {
  ScopedFlags scoped;
  scoped.set("device", "null");
  for (const auto& [name, value] : flags) scoped.set(name, std::string(value));
  return without_effect(run_settings());
}

std::string owners(const char* flag) {
  return platform::listed_names(owners_of(gflags::GetCommandLineFlagInfoOrDie(flag)));
}

// The path of a source file says which scheme or workload owns the flags in this file.
TEST(WithoutEffect, EachFlagOfASchemeOrWorkloadHasAnOwner) {
  for (const auto& flag : own_flags()) {
    bool in_table = false;
    for (const FlagGroup& group : flag_groups()) {
      in_table |= std::ranges::any_of(group.flags,
                                      [&](const auto& each) { return each.name == flag.name; });
    }
    const bool of_room = flag.filename.starts_with("logging/") ||
                         flag.filename.starts_with("workloads/") ||
                         flag.filename.starts_with("proof/");
    const bool has_owner = !owners_of(flag).empty();
    EXPECT_TRUE(has_owner || in_table || !of_room) << flag.name << " has no owner";
    EXPECT_FALSE(has_owner && in_table) << flag.name << " is for all";
  }
}

TEST(WithoutEffect, OwnersAreThoseWhoReadTheFlag) {
  EXPECT_EQ(owners("ack"), "ermia, pwal, rfa and scm");
  EXPECT_EQ(owners("pwal_ngroup"), "centr-lockflush and pwal");
  EXPECT_EQ(owners("poplar_segment_bytes"), "poplar");
  EXPECT_EQ(owners("silo_epoch_ms"), "silo");
  EXPECT_EQ(owners("aether_slots"),
            "aether-c, aether-cd, aether-cd-socket, aether-cde, dlog-r and dlog-s");
  EXPECT_EQ(owners("tpcc_mix"), "tpcc");
  EXPECT_EQ(owners("ledger"), "ledger");
  EXPECT_EQ(owners("threads"), "");
}

TEST(WithoutEffect, OtherSchemesAndWorkloadsFlagsAreNamed) {
  EXPECT_EQ(of_run({{"tpcc_mix", "np"}, {"silo_epoch_ms", "40"}, {"log", "silo"}}),
            "--tpcc_mix (of workload tpcc)");
  EXPECT_EQ(of_run({{"pwal_ngroup", "4"}, {"log", "silo"}}),
            "--pwal_ngroup (of log centr-lockflush and pwal)");
  EXPECT_EQ(of_run({{"pwal_ngroup", "4"}, {"log", "pwal"}, {"ycsb_records", "1000"}}), "");
}

TEST(WithoutEffect, FlagsThatNeedAnotherChoiceAreNamed) {
  EXPECT_EQ(of_run({{"pipeline_depth", "9"}, {"commit", "sync"}}),
            "--pipeline_depth (of --commit=pipelined)");
  EXPECT_EQ(of_run({{"pipeline_depth", "9"}}), "");
  EXPECT_EQ(of_run({{"history_mb", "9"}}), "--history_mb (of --history)");
  EXPECT_EQ(of_run({{"read_mb_s", "9"}}), "--read_mb_s (of --continue)");
  EXPECT_EQ(of_run({{"wal_dir", "/tmp"}}), "--wal_dir (of a device that keeps the log)");
  EXPECT_EQ(of_run({{"sync", "fsync"}}), "--sync (of devices file and sync)");
  EXPECT_EQ(of_run({{"sync", "fsync"}, {"device", "sync"}, {"wal_dir", "/tmp"}}), "");
  EXPECT_EQ(of_run({{"flush_gap_us", "9"}, {"flush", "us:9"}}),
            "--flush_gap_us (of runs without --flush)");
  EXPECT_EQ(of_run({{"log", "none"}, {"log_buffer_mb", "9"}}),
            "--log_buffer_mb (of a scheme with log buffers)");
  EXPECT_EQ(of_run({{"log", "none"}, {"flush", "us:9"}}), "--flush (of a scheme that logs)");
}

TEST(WithoutEffect, TheRunSaysSoInANoteAndInItsRow) {
  const std::string run =
      "\"$LOGJAM\" run --ycsb_records=1000 --device=null --log=none --threads=1 --transactions=100 "
      "2>&1 ";
  const Ended ended = shell(run + "--tpcc_mix=np --pipeline_depth=9 --commit=sync");
  EXPECT_EQ(ended.status, 0);
  const std::string list =
      "--pipeline_depth (of --commit=pipelined), --tpcc_mix (of workload tpcc)";
  EXPECT_NE(ended.output.find("\nnote: without effect here: " + list + "\n"), std::string::npos)
      << ended.output;
  EXPECT_NE(ended.output.find("\nwithout_effect         " + list + "\n"), std::string::npos)
      << ended.output;
  EXPECT_EQ(shell(run).output.find("without"), std::string::npos);
}

}  // namespace
}  // namespace logjam
