// Cautions for the reader of a row, about the machine that it was measured on. The main thread
// calls these functions.
#pragma once

#include <string>
#include <vector>

#include "engine/storage/database.h"
#include "logging/log.h"
#include "platform/kernel_files.h"

namespace logjam {

// Returns a sentence for each thing that makes this run say less than its row seems to: more than
// 16 workers a core, a quota of processor time below the workers, workers that were not pinned, a
// counter of time that may be wrong, a log on a file system in memory. `log` are the options of the
// run's log. Called when the workers have ended.
std::vector<std::string> cautions_about_machine(const LogOptions& log);
// Returns a sentence if the processor's counter, by which latencies are measured, may change its
// pace or stop: neither does the processor promise that it does not, nor does the kernel rely on
// it. Else an empty text.
std::string caution_about_clock(const platform::KernelFiles& kernel = {});
// Returns a sentence for each hash index that has far more entries than it was laid out for.
std::vector<std::string> cautions_about_indexes(Database& database);

}  // namespace logjam
