// One round of the crash test: run the ledger, kill the process, recover, and check the history.
//
// Everything about a round except its timing follows from its seed and the registries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proof/rounds/ledger_flags.h"
#include "tests/temporary_directory.h"

namespace logjam {

struct CrashRound {
  uint64_t seed = 0;
  LedgerFlags flags;            // of the run
  bool ends_by_itself = false;  // no kill: recovery must find exactly the acknowledged transactions
  uint32_t kill_after_ms = 0;
  uint32_t directories = 1;  // of the log; recovery gets them in another order
  std::string replay;        // recovery's --replay

  std::string name() const;  // in messages and test names: centr_occ_sync_txn
};

// Returns the number of combinations. This number of consecutive seeds gives each combination once.
uint64_t crash_combinations();
// Derives the round of this seed. Consecutive seeds walk through every scheme x protocol x commit
// policy x record granularity, so a new scheme or protocol inherits the test.
CrashRound derive_round(uint64_t seed);

struct CrashResult {
  bool passed = false;
  std::string commands;  // the exact command lines of the run and of the recovery
  std::string report;    // the result; after a failure, also the output of the programs
  uint64_t recorded = 0, acknowledged = 0;
};

// A temporary directory in which a round runs its commands: the directories of a log, and the
// history of its runs. The directory stays if the round fails. One thread uses it.
class RoundSite {
 public:
  // The moment from which the time before a kill is counted.
  enum class From : uint8_t { kStart, kFirstTransaction };

  RoundSite(const std::string& binary, uint32_t directories);

  const std::string& history() const { return history_; }
  const std::vector<std::string>& directories() const { return directories_; }
  // Returns the beginning of a command on the log: "binary name --wal_dir=...".
  std::vector<std::string> command(const char* name, bool reversed) const;
  std::vector<std::string> run_command(const LedgerFlags& flags, bool reversed) const;

  // Runs the command, and kills it `kill_after_ms` after `from`; 0: the command ends by itself.
  // Returns false if the command failed, and puts that into the report.
  bool run(const std::vector<std::string>& command, uint64_t kill_after_ms,
           From from = From::kStart);
  // Returns how the last command ended, for the report.
  const std::string& ending() const { return ending_; }

  // Returns the result of a round that did `what`. `again` are the flags that repeat it.
  CrashResult result(bool passed, const std::string& what, const std::string& again);

 private:
  // Returns what went wrong, or an empty string.
  std::string wait_and_kill(const std::vector<std::string>& command, const std::string& output,
                            uint64_t kill_after_ms, From from);

  TemporaryDirectory directory_;
  const std::string binary_, history_;
  std::vector<std::string> directories_;
  std::string ending_;
  CrashResult result_;
};

// Plays the round with `binary` in a temporary directory, which stays if the round fails.
CrashResult play(const CrashRound& round, const std::string& binary);

}  // namespace logjam
