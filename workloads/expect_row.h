// Accesses to rows that fail only with kAbort, unless the engine has an error.
#pragma once

#include "engine/transaction.h"
#include "platform/fatal.h"

namespace logjam {

// Returns true for kOk, and false for kAbort, after which the transaction must return at once. Any
// other status means that the engine has lost or invented a row, and ends the process with
// kExitViolation.
inline bool ok_or_die(Status status, const char* row, const char* wrong) {
  if (status == Status::kAbort) return false;
  if (status != Status::kOk) {
    platform::fatal(std::string(row) + wrong, platform::kExitViolation);
  }
  return true;
}

// Checks the status of an access to a loaded row. Such a row is always present: a transaction that
// deletes it also inserts it again. `row` names the row in the error message.
inline bool found_or_die(Status status, const char* row) {
  return ok_or_die(status, row, " is missing, which was loaded and never deleted");
}

// Reads a loaded row. Returns null if the transaction must return kAbort at once.
template <class Row>
const Row* read_or_die(Transaction& txn, Table& table, Key key, const char* row) {
  const Row* found;
  return found_or_die(txn.read(table, key, &found), row) ? found : nullptr;
}
template <class Row>
Row* update_or_die(Transaction& txn, Table& table, Key key, const char* row) {
  Row* found;
  return found_or_die(txn.update(table, key, &found), row) ? found : nullptr;
}

}  // namespace logjam
