// What a recovery finds in the log directories: the runs that continue each other, and the
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
  std::vector<LogFiles> runs;  // in their order; LogFiles::starts says where the first one begins
};

struct LogChain {
  std::string error;                  // why nothing can be recovered, in one sentence; or empty
  std::vector<std::string> notes;     // each a sentence: checkpoints that are passed over
  std::vector<RecoveryStart> starts;  // the best one first
  uint64_t first_run = 0;
  uint32_t ordinal = 0;   // of the last run
  uint64_t last_run = 0;  // its number
  // The flags that the log names: workload, and what shapes its tables.
  std::map<std::string, std::string> flags;
};

// Looks into `directories`, which may be in any order, and reads headers and metadata. Any thread.
LogChain find_log_chain(const std::vector<std::string>& directories);

}  // namespace logjam
