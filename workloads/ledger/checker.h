// Proves that a database agrees with its history, or refutes it with one sentence.
//
// A key's chain is the last write of its row, the write overwritten by the last one, and so on down
// to the initial load. A write is in the database if it belongs to the chain of its key. A
// transaction is recovered if one of its writes is in the database. Rows name their writer, so
// chains are computed from the database and the history, and never from the log, whose correctness
// is the question.
//
//   R1  Every acknowledged transaction that wrote is recovered, and acknowledged transactions read
//       only writes that are in the database.
//   R2  Either all writes of a transaction are in the database, or none. Entries agree with the
//       rows of the ledger.
//   R3  The writes of each key form one chain. The row's `seen` follows from what all writers of
//       the chain had read; where the log held commands, they have read the same again.
//   R4  Recovered transactions read only writes that are in the database.
//
// The checker also proves that the execution was serializable: the write-write, write-read and
// read-write precedences among recovered and acknowledged transactions have no cycle (Adya: PL-3),
// and no range read saw a phantom.
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
  uint64_t recovered = 0;  // transactions with a write in the database
  uint64_t edges = 0;      // precedences among transactions
  std::string unsafe;      // why acknowledged transactions were allowed to be missing, or empty

  std::string summary() const;  // one line
};

// The rows of a database, sorted by key.
struct LedgerRows {
  std::vector<std::pair<Key, LedgerRow>> ledger;
  std::vector<std::pair<Key, EntryRow>> entries;
};
// Copies all present rows. No transaction may run meanwhile.
LedgerRows read_rows(Database& database);

// Checks what the rows show without a history: no row is torn, no row is missing, and entries agree
// with the ledger. Returns the first violation as a sentence, or an empty string.
std::string check_rows(const LedgerRows& rows, uint64_t keys);

// Checks all rules above. A history with an `error` is a failed check.
CheckResult check(const LedgerRows& rows, const History& history);

}  // namespace logjam::ledger

namespace logjam {

// Reads the database's rows and the history at `history_path`, and checks one against the other.
// A history that cannot be read is a failed check. No transaction may run meanwhile.
ledger::CheckResult check_history(Database& database, const std::string& history_path);

}  // namespace logjam
