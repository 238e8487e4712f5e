// One round of the crash test: run the ledger, kill it, recover, prove.
//
// Everything about a round but its timing follows from its seed, given the registries: round after
// round the seeds walk through every scheme x protocol x commit policy x record granularity, so a
// new scheme or protocol inherits the test.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace logjam {

struct CrashRound {
  uint64_t seed = 0;
  std::string scheme, protocol, commit, log_records;
  bool ends_by_itself = false;  // no kill: everything acknowledged, nothing else, must be there
  uint32_t kill_after_ms = 0;
  uint32_t directories = 1;            // of the log; recovery is told them in another order
  std::string replay;                  // recovery's --replay
  std::vector<std::string> run_flags;  // all but the paths

  std::string name() const;  // for people and test names: centr_occ_sync_txn
};

// How many rounds there are before a combination comes again.
uint64_t crash_combinations();
CrashRound derive_round(uint64_t seed);

struct CrashResult {
  bool passed = false;
  std::string commands;  // the two exact command lines
  std::string report;    // what happened, and on failure what the programs said
  uint64_t recorded = 0, acknowledged = 0;
};

// Plays it with `binary` in `directory`, which is created, and removed if the round passes.
CrashResult play(const CrashRound& round, const std::string& binary, const std::string& directory);

}  // namespace logjam
