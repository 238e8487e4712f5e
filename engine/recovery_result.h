// The result of a recovery, of a log of values or of commands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "logging/recovery_rule.h"

namespace logjam {

struct RecoveryResult {
  std::string error;  // one sentence; if it is not empty the database may be wrong or incomplete
  // One sentence, if a stream has lost records that were durable once (find_damage()). Even so, the
  // replayed transactions depend on no lost one.
  std::string damage;
  std::vector<StreamTail> tails;
  Cut cut;
  uint64_t transactions = 0;  // committed ones that survived the cut
  uint64_t records = 0;       // that survived the cut
  uint64_t bytes = 0;         // of these records
  uint64_t beyond_cut = 0;    // valid records that did not survive
  uint64_t incomplete = 0;    // transactions that neither committed nor failed (--log_records=op)
  uint64_t most_memory = 0;   // the most bytes of the log that were in memory at the same time
  double seconds = 0;
};

}  // namespace logjam
