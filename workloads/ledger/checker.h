// Proves, or refutes with one sentence, that a database is what its history promises.
//
//   R1  what was acknowledged is there, and acknowledged readers read only what is there
//   R2  of each transaction all writes are there or none; entries agree with ledger rows
//   R3  each key's writes form one chain, from the row that is there down to the initial load, and
//       the row remembers what all of them had read (if the log held commands: they read it again)
//   R4  what a transaction that is there has read from is there
//   and no serial order is contradicted: write-write, write-read and read-write precedences of what
//   is there and what was acknowledged have no cycle (Adya: PL-3), no range read saw a phantom.
//
// "There" (recovered) means: one of its writes is in a chain. Rows name their writer, so chains
// come from the database and the history, never from the log that is on trial.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/storage/database.h"
#include "workloads/ledger/history.h"
#include "workloads/ledger/rows.h"

namespace logjam::ledger {

struct CheckResult {
  bool passed = false;
  std::string violation;  // one sentence; empty if passed
  uint64_t recorded = 0;  // transactions that reached their commit, acknowledged or not
  uint64_t acknowledged = 0;
  uint64_t recovered = 0;  // writers whose writes are there
  uint64_t edges = 0;
  std::string unsafe;  // why acknowledged transactions were allowed to be missing, or empty

  std::string summary() const;  // one line
};

// The rows of a database, by key.
struct LedgerRows {
  std::vector<std::pair<Key, LedgerRow>> ledger;
  std::vector<std::pair<Key, EntryRow>> entries;
};
LedgerRows read_rows(Database& database);

// What rows alone can tell: none is torn, none is missing, entries agree with the ledger. Returns
// the first violation, or nothing.
std::string check_rows(const LedgerRows& rows, uint64_t keys);

CheckResult check(const LedgerRows& rows, const History& history);

}  // namespace logjam::ledger

namespace logjam {

// A history that cannot be read is a failed check.
ledger::CheckResult check_history(Database& database, const std::string& history_path);

}  // namespace logjam
