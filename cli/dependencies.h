// `logjam dump --dependencies`: the dependencies between the transactions of a log. The main thread
// calls these functions.
#pragma once

#include <cstdint>

#include "logging/format/log_reader.h"

namespace logjam {

// The part of the log that --range asks for.
struct DumpRange {
  uint64_t run = 0;    // 0: the last run
  uint64_t from = 0;   // records or transactions to leave out first
  uint64_t count = 0;  // the most records or transactions after these
};

// Returns whether the flags ask for dependencies, or for the row with their counts, instead of
// records.
bool dependencies_wanted();
// Writes the file of --dependencies, and prints and appends the row. Refuses a log of commands.
void dump_dependencies(const LogFiles& files, const DumpRange& range);

}  // namespace logjam
