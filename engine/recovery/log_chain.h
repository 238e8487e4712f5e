// The parts of a log that a recovery may use: runs that continue each other, and checkpoints.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "logging/format/checkpoint.h"
#include "logging/format/log_reader.h"
#include "logging/format/manifest_file.h"

namespace logjam {

// One way to recover: from a checkpoint, or from the initial load, and then through the runs.
struct RecoveryStart {
  std::optional<Checkpoint> checkpoint;
  std::vector<LogFiles> runs;  // in order; LogFiles::starts says where to read the first run
};

struct LogChain {
  std::string error;                     // why nothing can be recovered, in one sentence; or empty
  bool lost = false;                     // `error` says that the log is damaged
  std::string damage;                    // damage of the manifest in one sentence, or empty
  std::vector<std::string> notes;        // a sentence for each checkpoint that cannot be used
  std::vector<RecoveryStart> starts;     // the best start first
  std::vector<std::string> directories;  // in the log's order
  Manifest manifest;
  // The ordinal and the flags of the last run that counts, or else of the newest checkpoint.
  uint32_t ordinal = 0;
  // The flags that the log names: the workload, and the flags that shape its tables.
  std::map<std::string, std::string> flags;
};

// Reads the manifest. If the manifest is lost and `use_copy` is true, reads its copy. `directories`
// may be in any order.
LogChain find_log_chain(const std::vector<std::string>& directories, bool use_copy = false);

}  // namespace logjam
