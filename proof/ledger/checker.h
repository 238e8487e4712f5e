// Proves that a database agrees with its history, or refutes it with one sentence.
//
// A key's chain is the last write of its row, the write that this write overwrote, and so on down
// to the initial load (versions.h). A write is in the database if it belongs to the chain of its
// key. A write *shows* if it is the last of a chain, or if a write that shows updated it. A
// transaction is recovered if one of its writes shows. Rows name their writer, so the checker
// computes chains from the database and the history, and never from the log, which it tests.
//
//   R1  All writes of every acknowledged transaction are in the database, and so are all writes of
//       the transactions on which it depends, directly or through others (checker.cc).
//   R2  Either all writes of a recovered transaction are in the database, or none. Entries agree
//       with the rows of the ledger, and slots with their cells.
//   R3  The writes of each key form one chain, also where they are blind. The row's `seen` follows
//       from the versions that its writers had read. Where the log holds commands, recovery has
//       read the same versions again.
//   R4  All writes of each transaction on which a recovered transaction depends, directly or
//       through others, are in the database.
//
// A blind overwrite counts for R3, but not for R1 and R4, because the transaction does not depend
// on the version that it overwrites without reading it. An insert depends on the erase before it.
//
// The checker also proves that the execution was serializable: the write-write, write-read and
// read-write precedences among recovered and acknowledged transactions have no cycle (Adya: PL-3),
// no range read saw a phantom, and rows of slots were inserted and erased in turn. If the protocol
// of a life promises no more than snapshot isolation, a cycle may have two read-write precedences
// in a row, and no other cycle is allowed (Cerone and Gotsman, PODC 2016). In a history of
// several lives (proof/history/history_files.h), no transaction precedes one of an earlier life.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/storage/database.h"
#include "proof/ledger/history.h"
#include "proof/ledger/rows.h"

namespace logjam::ledger {

struct CheckResult {
  bool passed = false;
  std::string violation;  // one sentence; empty if passed
  uint64_t recorded = 0;  // transactions that reached their commit, acknowledged or not
  uint64_t acknowledged = 0;
  uint64_t recovered = 0;  // transactions of which a write shows
  uint64_t edges = 0;      // precedences among transactions
  std::string unsafe;      // why acknowledged transactions were allowed to be missing, or empty

  std::string summary() const;  // one line
};

// The rows of a database, sorted by key.
struct LedgerRows {
  std::vector<std::pair<Key, LedgerRow>> ledger;
  std::vector<std::pair<Key, EntryRow>> entries;
  std::vector<std::pair<Key, CellRow>> cells;   // keys are numbers of cells
  std::vector<std::pair<Key, EntryRow>> slots;  // keys are numbers of slots
};
// Copies all present rows. Call it when no transaction runs.
LedgerRows read_rows(Database& database);

// Checks that no row is torn or missing, that entries agree with the ledger, and that slots agree
// with their cells. Returns the first violation as a sentence, or an empty string.
std::string check_rows(const LedgerRows& rows, const KeySpace& keys);

// Checks all rules above. A history with an `error` is a failed check.
CheckResult check(const LedgerRows& rows, const History& history);

// Writes the history to the file `path` as a list-append history (list_append.cc). Returns an empty
// string, or why the history cannot be exported. Ends the process if the file cannot be written.
std::string export_list_append(const LedgerRows& rows, const History& history,
                               const std::string& path);

}  // namespace logjam::ledger

namespace logjam {

// Checks the database's rows against the history file. Call it when no transaction runs.
ledger::CheckResult check_history(Database& database, const std::string& history_path);

}  // namespace logjam
