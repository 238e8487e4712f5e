// The contents of the log directories, for a recovery: the runs that continue each other, and the
// checkpoints from which it may begin.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/checkpoint/checkpoint.h"
#include "logging/format/log_reader.h"

namespace logjam {

// One way to recover: from a checkpoint, or from the initial load, and then through the runs.
struct RecoveryStart {
  std::optional<Checkpoint> checkpoint;
  std::vector<LogFiles> runs;  // in their order; LogFiles::starts is the begin of the first
};

struct LogChain {
  std::string error;                  // why nothing can be recovered, in one sentence; or empty
  std::vector<std::string> notes;     // a sentence for each checkpoint that is passed over
  std::vector<RecoveryStart> starts;  // the best one first
  uint64_t first_run = 0;
  uint32_t ordinal = 0;   // of the last run
  uint64_t last_run = 0;  // its number
  // The flags that the log names: the workload, and the flags that shape its tables.
  std::map<std::string, std::string> flags;
};

// Reads the headers and the metadata in `directories`, which may be in any order. Any thread may
// call it.
LogChain find_log_chain(const std::vector<std::string>& directories);

}  // namespace logjam
