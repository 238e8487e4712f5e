// Makes a log of commands by a run, and replays it.
#pragma once

#include <string>

#include "engine/recovery/commands/replay_commands.h"
#include "engine/run/run.h"
#include "tests/logging/log_fixture.h"
#include "tests/workloads/harness.h"
#include "workloads/random.h"

namespace logjam {

inline const SchemeInfo& commands() { return *find_scheme("command"); }

// A fingerprint of all rows and of the sequence numbers of their writers.
inline uint64_t state_of(Database& database) {
  uint64_t sum = fingerprint(database);
  for (const auto& table : database.tables()) {
    table->for_each_row([&](Key key, const std::byte*) {
      Keyed* entry = table->primary().find(key, nullptr);
      sum += mix64(Table::tuple_of(entry)->load_version().word() ^ mix64(key + table->id()));
    });
  }
  return sum;
}

// The result of a run: a fingerprint of its database, and its log.
struct Left {
  uint64_t state = 0;
  uint64_t transactions = 0;
  LogFiles files;
};

inline Left run_and_log(Workload& workload, const ProtocolInfo& protocol,
                        const LogDirectory& directory, uint32_t threads, uint64_t transactions) {
  LogOptions log_options = logjam::log_options(commands(), directory, "sync", threads);
  log_options.header.flags["workload"] = "any";
  Log log(log_options);
  RunOptions options;
  options.threads = threads;
  options.pin = false;
  options.pipeline_depth = 1024;
  options.transactions = transactions;
  options.seconds = 3600;  // not reached: the run ends after `transactions`
  const auto database = load(workload, 1);
  log.start();
  workload.start_history(options.threads, {});
  workload.keep_history();
  const RunResult result = run(workload, *database, protocol, log.scheme(), options);
  log.drain();
  log.stop();
  return {state_of(*database), result.transactions, find_log_files({directory.path()})};
}

inline RecoveryResult replay(Workload& workload, Database& database, const LogFiles& files,
                             const ProtocolInfo& protocol, uint32_t threads = 1) {
  EXPECT_EQ(files.error, "");
  return replay_commands(workload, database, files, commands().recovery, protocol, threads);
}

}  // namespace logjam
