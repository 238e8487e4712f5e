// Recovery from a log's directories: a checkpoint, or the initial load, and then the runs in order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/checkpoint/load_checkpoint.h"
#include "engine/protocol.h"
#include "engine/recovery/log_chain.h"
#include "engine/recovery/recover.h"
#include "engine/workload.h"

namespace logjam {

struct ChainOptions {
  uint32_t threads = 1;
  ReplayOrder order = ReplayOrder::kParallel;
  double read_bytes_per_second = 0;        // limit for each directory
  uint64_t memory_bytes = kRecoveryBytes;  // for the log, while a run of values is replayed
  const ProtocolInfo* protocol = nullptr;  // for runs that logged commands
  bool progress = false;                   // a bar on stderr while the initial database is loaded
  // If true, a run or a checkpoint will follow. So the versions are reset after the last run, too.
  bool goes_on = false;
  std::function<std::unique_ptr<Workload>()> make_workload;
  // The recovery calls it before it replays a run. The recovery rule may depend on flags in the
  // header.
  std::function<void(const LogFileHeader&)> before_run = [](const LogFileHeader&) {};
};

struct RecoveredRun {
  LogFiles files;
  RecoveryResult result;
};

struct RecoveredChain {
  std::unique_ptr<Workload> workload;
  std::unique_ptr<Database> database;
  std::optional<Checkpoint> checkpoint;  // the database was recovered from it
  LoadResult loaded;                     // the result of loading the checkpoint
  double load_seconds = 0;               // of loading the checkpoint, or the initial rows
  std::vector<RecoveredRun> runs;
  std::vector<std::string> notes;  // a sentence for each checkpoint or record that is not used
  // The checkpoints that no recovery can use, because their files or their log are damaged.
  std::vector<uint64_t> unusable;
  std::string error;  // one sentence; if it is not empty the database may be wrong
  // One sentence, if the log has lost durable records. The database contains the remaining log up
  // to and including the run with the damage.
  std::string damage;
  std::vector<uint32_t> dropped;  // unused runs, which are all runs after the run with the damage
};

// Recovers from the best start of `chain` whose checkpoint can be used.
RecoveredChain recover_chain(const LogChain& chain, const ChainOptions& options);

// Gives every tuple the sequence number 0, because each run begins to number its transactions anew.
// Removes absent tuples where that is possible (Table::reclaims()), so that a table in which rows
// are inserted and erased does not grow with every restart. No transaction of the next run depends
// on an erase of this run. No other thread uses `database`.
void reset_versions(Database& database, uint32_t threads);

// Makes the recovered part of the log durable, because the next run or checkpoint builds on it.
// Writes into `manifest` where this part ends and which damage was accepted, and removes from
// `manifest` the runs and checkpoints that no recovery needs. Ends the process if a file cannot be
// synced. The caller holds the locks of the log's directories.
void settle(const RecoveredChain& recovered, Manifest* manifest);

}  // namespace logjam
