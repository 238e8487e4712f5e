// One round of the crash test: run the ledger, kill the process, recover, and check the history.
//
// Everything about a round except its timing follows from its seed and the registries. Consecutive
// seeds walk through every scheme x protocol x commit policy x record granularity, so a new scheme
// or protocol inherits the test.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/proof/ledger_flags.h"

namespace logjam {

struct CrashRound {
  uint64_t seed = 0;
  LedgerFlags flags;            // of the run
  bool ends_by_itself = false;  // no kill: recovery must find exactly what was acknowledged
  uint32_t kill_after_ms = 0;
  uint32_t directories = 1;  // of the log; recovery gets them in another order
  std::string replay;        // recovery's --replay

  std::string name() const;  // in messages and test names: centr_occ_sync_txn
};

// Returns the number of combinations. This number of consecutive seeds gives each combination once.
uint64_t crash_combinations();
// Returns seeds of one round for each scheme and protocol. Commit policies and granularities
// alternate, and LOGJAM_TEST_SEED makes them others (tests/draw.h).
const std::vector<uint64_t>& seeds_of_each_scheme_and_protocol();
CrashRound derive_round(uint64_t seed);

struct CrashResult {
  bool passed = false;
  std::string commands;  // the exact command lines of the run and of the recovery
  std::string report;    // the result; after a failure, also the output of the programs
  uint64_t recorded = 0, acknowledged = 0;
};

// Plays the round with `binary` in a temporary directory, which stays if the round fails.
CrashResult play(const CrashRound& round, const std::string& binary);

}  // namespace logjam
