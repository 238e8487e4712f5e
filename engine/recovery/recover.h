// Recovery: one mechanism for every value-logging scheme. Find the cut, then replay in parallel;
// the last writer (largest sequence number) wins, so order does not matter. Merging the streams in
// order is there to compare with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/storage/database.h"
#include "logging/log_reader.h"
#include "logging/log_scheme.h"

namespace logjam {

struct RecoveryResult {
  std::string error;  // not empty: nothing may be concluded from the database
  std::vector<StreamTail> tails;
  Cut cut;
  uint64_t transactions = 0;
  uint64_t records = 0;     // valid ones in the usable log
  uint64_t bytes = 0;       // of these
  uint64_t beyond_cut = 0;  // valid records not used
  uint64_t incomplete = 0;  // transactions without a commit record (--log_records=op)
  double seconds = 0;
};

enum class ReplayOrder : uint8_t {
  kParallel,  // all threads, all streams side by side
  kMerged,    // one thread, by sequence number across streams (P-WAL, Algorithm 3)
};

// Replays into `database`, which holds its initial load. `scheme` only answers for the cut. Each
// log directory gives at most `read_bytes_per_second`; 0: as fast as it goes.
RecoveryResult recover(Database& database, const LogFiles& files, const LogScheme& scheme,
                       uint32_t threads, ReplayOrder order = ReplayOrder::kParallel,
                       double read_bytes_per_second = 0);

}  // namespace logjam
