// The recovery of a log by `recover` and `run --continue`.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/row.h"
#include "engine/recovery/recover_chain.h"
#include "logging/directory_locks.h"

namespace logjam {

struct RecoveryOptions {
  std::vector<std::string> directories;
  std::string protocol;  // the protocol that executes a log of commands
  uint32_t threads = 0;
  ReplayOrder order = ReplayOrder::kParallel;
  uint64_t memory_bytes = 0;
  double read_mb_s = 0;  // 0: no limit
  bool accept_damage = false;

  std::string order_name() const { return order == ReplayOrder::kMerged ? "merge" : "parallel"; }
};
// Returns the options of the flags. Refuses values that cannot be used.
RecoveryOptions recovery_options();

// Finds the log in the directories, and waits until no write of a killed process can reach the log.
// Sets the flags that shape the workload's tables to the log's values. Refuses if there is no log,
// or if the command line contradicts the log. Lock the directories first.
LogChain open_log(const RecoveryOptions& recovery);

// Returns the options of a recovery of the log `chain`. Refuses options that do not fit the log.
ChainOptions chain_options(const RecoveryOptions& recovery, const LogChain& chain);

// Refuses a command line that contradicts the flags in the run's header, which a recovery needs.
void refuse_contradictions(const LogFileHeader& header);
// Sets the flags in the run's header to the values in the header.
void take_recovery_flags(const LogFileHeader& header);

// Prints a report of the recovery. Returns whether the recovered database may be used.
bool print_recovered(const RecoveredChain& recovered, bool accept_damage,
                     const std::string& replay);

// The sums over all runs of a recovered log.
struct RecoveredSums {
  uint64_t transactions = 0, records = 0, bytes = 0, beyond_cut = 0, incomplete = 0;
  double seconds = 0;
  uint64_t most_memory = 0;  // the largest of any run, not a sum
  double gb_per_second() const { return per(1e-9 * static_cast<double>(bytes), seconds); }
};
RecoveredSums sums_of(const RecoveredChain& recovered);

// The log that a run continues. The object locks the log's directories, and sets flags as
// open_log() does. Make it before you call run_settings().
struct Continued {
  explicit Continued(const RecoveryOptions& options)
      : recovery(options),
        locks(options.directories, DirectoryUse::kWrite),
        chain(open_log(options)),
        manifest(chain.directories, chain.manifest) {}

  // Returns the ordinal of the run that the new run continues. Returns 0 if there is none, because
  // a process was killed while it began a new log.
  uint32_t after() const {
    const ManifestRun* last = chain.manifest.run(chain.ordinal);
    return last != nullptr && !last->begun ? 0 : chain.ordinal;
  }

  const RecoveryOptions recovery;
  const DirectoryLocks locks;
  const LogChain chain;
  LogManifest manifest;
  RecoveredChain recovered = {};
  // The part of this object that the run's own log needs.
  ContinuedLog log = {
      .manifest = &manifest,
      .found = [this](Manifest& found) { settle(recovered, &found); },
  };
};

// Recovers the database into `continued`. Refuses a log that cannot be continued.
void recover_continued(const Settings& settings, Continued* continued);

}  // namespace logjam
