// One round of the crash test: run the ledger, kill the process, recover, and check the history.
//
// Everything about a round but its timing follows from its seed and the registries. Consecutive
// seeds walk through every scheme x protocol x commit policy x record granularity, so a new scheme
// or protocol inherits the test.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace logjam {

// Flags that are lists: their keys and values.
using KeyLists = std::map<std::string, std::map<std::string, std::string>>;
// Returns the lists as --FLAG=KEY:VALUE,...
std::vector<std::string> as_flags(const KeyLists& lists);

struct CrashRound {
  uint64_t seed = 0;
  std::string scheme, protocol, commit, log_records;
  bool ends_by_itself = false;  // no kill: recovery must find exactly what was acknowledged
  uint32_t kill_after_ms = 0;
  uint32_t directories = 1;            // of the log; recovery gets them in another order
  std::string replay;                  // recovery's --replay
  std::vector<std::string> run_flags;  // all flags of the run, except the paths and `lists`
  KeyLists lists;                      // --ledger and --test

  std::string name() const;  // in messages and test names: centr_occ_sync_txn
};

// The number of combinations: so many consecutive seeds give each combination once.
uint64_t crash_combinations();
// Seeds of one round for each scheme and protocol, under commit policies and granularities in turn.
std::vector<uint64_t> seeds_of_each_scheme_and_protocol();
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
