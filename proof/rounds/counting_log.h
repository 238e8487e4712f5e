// A small log whose only worker counts: its transaction n writes n into one of a few rows. So a
// recovery must return the rows as they were after some transaction n, and then it has found n
// transactions. Tests play the lives of such a log on a disk in memory (proof/disk/memory_files.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/recovery/recover_chain.h"
#include "proof/disk/memory_files.h"

namespace logjam {

struct CountingLife {
  std::string_view scheme;
  enum class Begin { kNew, kContinued, kOverwrites } begin = Begin::kNew;
  uint64_t transactions = 12;
  bool checkpoints = false;  // takes checkpoints while it runs
  bool checkpoint_at_end = false;
  bool reversed = false;                     // names the directories in the other order
  uint64_t most_checkpoints = ~uint64_t{0};  // the life ends when it has taken this number
  // A file in which a byte is changed before the life begins; empty: none. The life accepts the
  // damage, as --accept_damage does.
  std::string damaged = {};
  bool ranges = false;  // logs ranges
};

// A log in these directories. The functions return why they failed, or an empty string.
struct CountingLog {
  std::vector<std::string> directories;
  uint64_t segment_bytes = 0;

  // Recovers the log as the command `recover` does, or, if `goes_on`, as a run that continues it.
  std::string recover(LogChain* chain, RecoveredChain* recovered, bool goes_on) const;
  // Plays a life on the process's disk. Calls `acknowledged` for each acknowledged transaction.
  std::string live(const CountingLife& life,
                   const std::function<void(uint64_t)>& acknowledged) const;
  // Takes a checkpoint, as `recover --checkpoint` does.
  std::string checkpoint() const;
};

// Returns after how many transactions the rows have the recovered state; nothing if never.
std::optional<uint64_t> counted(Database& database);

}  // namespace logjam
