// One round of several lives on one set of log directories: a run of the ledger that takes
// checkpoints is killed, another run continues the log and is killed, and so on. After each life a
// recovery proves the history of all lives so far.
//
// Each life has its own scheme, protocol, commit policy and device, and names the directories in
// another order. Kills hit runs, their checkpoints and truncations, the recoveries and restarts
// that begin a later life, runs that replace the log, and `recover --checkpoint` between lives. The
// latest of two checkpoints may go bad. Everything except the timing follows from the seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proof/rounds/crash_round.h"

namespace logjam {

inline constexpr uint32_t kLeastLives = 3, kMostLives = 5;

struct Life {
  LedgerFlags flags;
  uint32_t kill_after_ms = 0;  // from the start of the process; 0: the life ends by itself
  // After this life `recover --checkpoint` runs, and is killed after this time; 0: it does not run.
  uint32_t checkpoint_for_ms = 0;
  bool overwrites = false;      // the life replaces the log, and does not continue it
  bool bad_checkpoint = false;  // after it, the latest checkpoint goes bad if another is complete
};

struct LivesRound {
  uint64_t seed = 0;
  uint32_t directories = 1;
  std::vector<Life> lives;

  std::string name() const;  // the first life's scheme and protocol
};

// Derives a round. Its first life has the scheme, the protocol and the granularity of
// derive_round(seed).
LivesRound derive_lives(uint64_t seed);

// Plays the round with `binary` in a temporary directory, which stays if the round fails.
CrashResult play(const LivesRound& round, const std::string& binary);

}  // namespace logjam
