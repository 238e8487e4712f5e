// Recovery of logged values, the same for every scheme. The ends of all streams (the cut) say which
// records survive. A record that survives the cut of the parts read so far also survives the final
// cut, so it is applied at once. Only records that do not survive this cut stay in memory. If they
// do not fit, parts of a stream are read twice (stream_replay.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/storage/database.h"
#include "logging/format/log_reader.h"
#include "logging/recovery_rule.h"

namespace logjam {

// The result of a recovery, of a log of values or of commands.
struct RecoveryResult {
  std::string error;  // one sentence; if it is not empty the database may be wrong or incomplete
  // One sentence, if a stream has lost durable records (find_damage()). The replayed transactions
  // depend on no lost transaction.
  std::string damage;
  std::vector<StreamTail> tails;
  Cut cut;
  uint64_t transactions = 0;  // committed transactions that survived the cut
  uint64_t records = 0;       // records that survived the cut
  uint64_t bytes = 0;         // of the surviving records
  uint64_t beyond_cut = 0;    // valid records that did not survive
  uint64_t incomplete = 0;    // transactions that neither committed nor failed (--log_records=op)
  uint64_t most_memory = 0;   // the most bytes of the log that were in memory at the same time
  double seconds = 0;
};

inline constexpr uint64_t kRecoveryBytes = uint64_t{1} << 30;

enum class ReplayOrder : uint8_t {
  kParallel,  // all threads, all streams at the same time
  kMerged,    // one thread, in the order of all sequence numbers (P-WAL, Algorithm 3)
};

// Replays the log `files` into `database`, which no other thread uses. `database` holds its initial
// load, or the rows of a checkpoint that covers the log before `files.starts`. `threads` threads
// apply records (kParallel), and each stream also has a reader thread. Reads at most
// `read_bytes_per_second` from each log directory; 0: no limit. Uses `memory_bytes` of memory for
// the log (StreamShare). A damaged log is no error: recovery ends where the valid records end, and
// `tails` says why. If no crash explains that end, `damage` is set. If a stream cannot be opened,
// replays nothing, because an empty stream would cut off the records of other streams.
RecoveryResult recover(Database& database, const LogFiles& files, const RecoveryRule& rule,
                       uint32_t threads, ReplayOrder order = ReplayOrder::kParallel,
                       double read_bytes_per_second = 0, uint64_t memory_bytes = kRecoveryBytes);

}  // namespace logjam
