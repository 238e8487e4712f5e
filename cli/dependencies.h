// `logjam dump --dependencies`: the dependencies between the transactions of a log. The main thread
// calls these functions.
#pragma once

#include "logging/format/log_reader.h"

namespace logjam {

// Whether a flag asks for them, or for the row that sums them up, instead of the records.
bool dependencies_wanted();
// Writes the file of --dependencies, and prints and appends the row. Refuses a log of commands.
void dump_dependencies(const LogFiles& files);

}  // namespace logjam
