// Accesses to rows that can only fail with kAbort, unless the engine has an error.
#pragma once

#include <string>

#include "engine/transaction.h"
#include "platform/fatal.h"

namespace logjam {

// Returns true for kOk, and false for kAbort: the transaction must return at once. On any other
// status the engine has lost or invented a row: the process says so, and ends with kExitViolation.
inline bool ok_or_die(Status status, const char* row, const char* wrong) {
  if (status == Status::kAbort) return false;
  if (status != Status::kOk) {
    platform::fatal(std::string(row) + wrong, platform::kExitViolation);
  }
  return true;
}

// Checks the status of an access to the row `row`, which the load created and no transaction
// deletes for good.
inline bool found_or_die(Status status, const char* row) {
  return ok_or_die(status, row, " is missing, which was loaded and never deleted");
}

// Checks the status of an insert of the row `row` under a key that belongs to this worker alone.
inline bool inserted_or_die(Status status, const char* row) {
  return ok_or_die(status, row, " exists already, under a key of this worker's own");
}

}  // namespace logjam
