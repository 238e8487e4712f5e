// A short crash round for each small scale of each workload except the ledger (crash_test.cc). A
// round kills a run, recovers, and checks the history and the workload's own conditions. Schemes,
// protocols and commit policies alternate. proof/workload_rounds.py plays more rounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "engine/protocol.h"
#include "engine/recovery/commands/replay_commands.h"
#include "logging/scheme_registry.h"
#include "platform/text.h"
#include "proof/history/file.h"
#include "proof/rounds/child.h"
#include "tests/logging/usable_device.h"
#include "tests/temporary_directory.h"
#include "tests/workloads/small_scales.h"

namespace logjam {
namespace {

struct Round {
  std::string workload;
  Flags flags;
  size_t number;
};

void PrintTo(const Round& round, std::ostream* out) {
  *out << round.workload << " " << round.number;
}

std::vector<Round> rounds() {
  std::vector<Round> all;
  for (const WorkloadInfo& info : all_workloads()) {
    if (info.keeps_history) continue;
    for (const Flags& flags : small_scales(info.name)) {
      all.push_back({std::string(info.name), flags, all.size()});
    }
  }
  return all;
}

// Returns the schemes with log files that can log the workload.
std::vector<const SchemeInfo*> schemes_of(const WorkloadInfo& workload) {
  std::vector<const SchemeInfo*> all;
  for (const SchemeInfo& scheme : all_schemes()) {
    if (!check_commands(workload, *find_protocol("occ"), scheme).empty()) continue;
    if (scheme.stream_count(1, LogConfig{}) != 0) all.push_back(&scheme);
  }
  return all;
}

class WorkloadCrash : public testing::TestWithParam<Round> {};

TEST_P(WorkloadCrash, LosesNothing) {
  const Round& round = GetParam();
  const TemporaryDirectory directory;
  const std::string log = directory.path_of("log"), history = directory.path_of("history");
  std::filesystem::create_directory(log);
  const auto schemes = schemes_of(*find_workload(round.workload));
  const SchemeInfo& scheme = *schemes[round.number % schemes.size()];
  const ProtocolInfo& protocol = all_protocols()[round.number % all_protocols().size()];
  const std::string commit = round.number % 3 == 0 ? "sync" : "pipelined";
  std::vector<std::string> run = {
      binary_under_test(),
      "run",
      "--workload=" + round.workload,
      "--log=" + std::string(scheme.name),
      "--cc=" + std::string(scheme.traits.commands && !protocol.serial_in_commit_order
                                ? "occ"
                                : protocol.name),
      "--commit=" + commit,
      "--device=" + usable_device(scheme, "file"),
      "--wal_dir=" + log,
      "--history=" + history,
      "--history_mb=64",
      "--threads=3",
      "--seconds=3600",
      "--warmup=0",
      "--log_prealloc_mb=1",
      "--log_buffer_mb=4",
      "--test=history_die_after:" + std::to_string(300 + 17 * round.number)};
  for (const auto& [name, value] : round.flags) run.push_back("--" + name + "=" + value);
  const std::vector<std::string> recover = {binary_under_test(),    "recover",  "--wal_dir=" + log,
                                            "--history=" + history, "--verify", "--threads=2"};
  std::cout << platform::join(run, " ") << "\n" << platform::join(recover, " ") << std::endl;
  Child running(run, directory.path_of("run.out"));
  ASSERT_TRUE(running.ended(kPatienceMs)) << "the run did not die";
  ASSERT_TRUE(running.was_killed()) << running.how() << last_lines(directory.path_of("run.out"));
  Child recovering(recover, directory.path_of("recover.out"));
  ASSERT_TRUE(recovering.ended(kPatienceMs)) << "the recovery did not end";
  EXPECT_TRUE(recovering.exited_well())
      << recovering.how() << last_lines(directory.path_of("recover.out"));
  const HistoryFile recorded = open_history_file(history);
  uint64_t acknowledged = 0;
  for (const auto& counters : recorded.counters) {
    for (const uint64_t counter : counters) acknowledged += counter;
  }
  EXPECT_GE(acknowledged, 300u);
}

INSTANTIATE_TEST_SUITE_P(Rounds, WorkloadCrash, testing::ValuesIn(rounds()), [](const auto& info) {
  std::string name = info.param.workload + "_" + std::to_string(info.param.number);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace logjam
