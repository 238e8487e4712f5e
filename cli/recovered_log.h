// The recovery of a log, as `recover` and `run --continue` both do it.
#pragma once

#include <string>
#include <vector>

#include "cli/row.h"
#include "engine/recovery/recover_chain.h"

namespace logjam {

// Finds the log in `directories`, waits until no write of a killed process can land in it any more,
// and sets the flags that shape the workload's tables as the log says: the initial load follows
// from them. Refuses if there is no log, or if the command line contradicts it. The caller has
// locked the directories.
LogChain open_log(const std::vector<std::string>& directories);

// Returns the options of a recovery of that log from the flags. Refuses values that cannot be used.
ChainOptions chain_options(const LogChain& chain);

// Returns the order of a replay of values, as --replay names it.
std::string replay_order();

// Refuses a command line that contradicts the flags in the run's header, on which its recovery
// depends.
void refuse_contradictions(const LogFileHeader& header);
// Sets the flags in the run's header to their values there.
void take_recovery_flags(const LogFileHeader& header);

// Prints a report of the recovery. Returns whether the database may be used.
bool print_recovered(const RecoveredChain& recovered, const std::string& replay);

// The counts of all runs together.
struct RecoveredSums {
  uint64_t transactions = 0, records = 0, bytes = 0, beyond_cut = 0, incomplete = 0;
  double seconds = 0;
  uint64_t most_memory = 0;  // of any run
  double gb_per_second() const { return per(1e-9 * static_cast<double>(bytes), seconds); }
};
// Adds up the counts of the runs.
RecoveredSums sums_of(const RecoveredChain& recovered);

}  // namespace logjam
