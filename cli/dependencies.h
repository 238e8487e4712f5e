// `logjam dump --dependencies`: the dependencies between the transactions of a log. The main thread
// calls these functions.
#pragma once

#include <cstdint>

#include "logging/format/log_reader.h"

namespace logjam {

// What --range says: which run, 0 for the last one; how many records or transactions are left out,
// and how many follow at most.
struct DumpRange {
  uint64_t run = 0, from = 0, count = 0;
};

// Returns whether a flag asks for dependencies, or for the row that sums them up, instead of the
// records.
bool dependencies_wanted();
// Writes the file of --dependencies, and prints and appends the row. Refuses a log of commands.
void dump_dependencies(const LogFiles& files, const DumpRange& range);

}  // namespace logjam
