// What `recover` and `run --continue` have in common: they recover what the log directories hold.
#pragma once

#include <string>
#include <vector>

#include "engine/recovery/recover_chain.h"

namespace logjam {

// Finds the log in `directories`, and takes the flags from it that shape the workload's tables.
// Refuses if there is no log, or if the command line contradicts it. The caller has locked the
// directories.
LogChain open_log(const std::vector<std::string>& directories);

// The options of a recovery of that log, as the flags say. Refuses flags that cannot be used.
ChainOptions chain_options(const LogChain& chain, const std::vector<std::string>& directories);

// Refuses a command line that contradicts the flags on which the recovery of a run depends, which
// are in its header.
void refuse_contradictions(const LogFileHeader& header);
// Sets these flags as the header says.
void take_recovery_flags(const LogFileHeader& header);

// Prints what was recovered, and returns whether the database may be used.
bool print_recovered(const RecoveredChain& recovered, const std::string& replay);

// What all runs together had.
struct RecoveredSums {
  uint64_t transactions = 0, records = 0, bytes = 0, beyond_cut = 0, incomplete = 0;
  double seconds = 0;
  double gb_per_second() const {
    return seconds > 0 ? 1e-9 * static_cast<double>(bytes) / seconds : 0;
  }
};
RecoveredSums sums_of(const RecoveredChain& recovered);

}  // namespace logjam
