// Accesses to rows that can only fail with kAbort, unless the engine has an error.
#pragma once

#include <string>

#include "engine/transaction.h"
#include "platform/fatal.h"

namespace logjam {

// Checks the status of an access to the row `row`, which the load created and no transaction
// deletes for good. Returns true for kOk, and false for kAbort: the transaction must return at
// once. On any other status the engine has lost the row, and the process ends with kExitViolation.
inline bool found_or_die(Status status, const char* row) {
  if (status == Status::kAbort) return false;
  if (status != Status::kOk) {
    platform::fatal(std::string(row) + " is missing, which was loaded and never deleted",
                    platform::kExitViolation);
  }
  return true;
}

// Checks the status of an insert of the row `row` under a key that belongs to this worker alone.
// Returns true for kOk, and false for kAbort: the transaction must return at once. On any other
// status the key has a row already, and the process ends with kExitViolation.
inline bool inserted_or_die(Status status, const char* row) {
  if (status == Status::kAbort) return false;
  if (status != Status::kOk) {
    platform::fatal(std::string(row) + " exists already, under a key of this worker's own",
                    platform::kExitViolation);
  }
  return true;
}

}  // namespace logjam
