// Recovery of logged values, the same for every scheme. Each stream is read once (stream_replay.h).
// Which records survive depends on where all streams end, the cut; but what survives the cut of
// what has been read so far survives the final one, so it is applied at once, and only the rest is
// held in memory until more is known (recovery_progress.h). Of all writes to a row the one with the
// largest sequence number wins (applier.h), so threads apply in any order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/storage/database.h"
#include "logging/format/log_reader.h"
#include "logging/recovery_rule.h"

namespace logjam {

struct RecoveryResult {
  std::string error;  // one sentence; if it is not empty the database may be wrong or incomplete
  // One sentence, if a stream has lost what was durable once (find_damage()). What was replayed is
  // closed all the same.
  std::string damage;
  std::vector<StreamTail> tails;
  Cut cut;
  uint64_t transactions = 0;  // committed ones that survived the cut
  uint64_t records = 0;       // that survived the cut
  uint64_t bytes = 0;         // of these
  uint64_t beyond_cut = 0;    // valid records that did not survive
  uint64_t incomplete = 0;    // transactions without a commit record (--log_records=op)
  double seconds = 0;
};

enum class ReplayOrder : uint8_t {
  kParallel,  // all threads, all streams side by side
  kMerged,    // one thread, by sequence number across streams (P-WAL, Algorithm 3): to compare with
};

// Replays the log `files` into `database`, which holds its initial load, or what a checkpoint has
// of the log before `files.starts`, and returns when that is done. `rule` is the log's scheme's.
// `threads` of them apply (kParallel), while each stream has a thread more that reads it. Each log
// directory gives at most `read_bytes_per_second`; 0: as fast as it can. A damaged log is no error:
// recovery ends where the valid records do, `tails` says why, and `damage` if that is not what a
// crash leaves. A stream that cannot be opened is an error, and nothing is replayed: to take it for
// an empty stream would lose what the other streams hold. One thread calls it; nothing else may use
// the database meanwhile.
RecoveryResult recover(Database& database, const LogFiles& files, const RecoveryRule& rule,
                       uint32_t threads, ReplayOrder order = ReplayOrder::kParallel,
                       double read_bytes_per_second = 0);

}  // namespace logjam
