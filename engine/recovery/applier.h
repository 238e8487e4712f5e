// Writes recovered rows into the database.
//
// Protocol. Appliers meet at a tuple's version word. The thread that sets its lock bit (acquire)
// may compare sequence numbers and write the row; its store of the new version (release) clears the
// lock bit and makes the row visible to the next thread that locks the tuple. A smaller or equal
// sequence number changes nothing. So of all writes to a tuple the one with the largest sequence
// number remains, in whatever order threads apply them. An erase leaves an absent tuple with its
// sequence number, and an older insert that is applied later cannot bring the row back.
#pragma once

#include <cstdint>
#include <string>

#include "engine/recovery/transaction_assembler.h"
#include "engine/storage/database.h"
#include "platform/mutex.h"

namespace logjam {

// Thread-safe: any number of threads may apply at the same time, each with an arena of its own.
class Applier {
 public:
  // `database` outlives the applier. Only appliers may use it meanwhile.
  explicit Applier(Database& database) : database_(database) {}

  // Applies all bodies. Tuples and index nodes that they need come from `arena`, which belongs to
  // the calling thread.
  void apply(const BodiesToApply& ready, Arena& arena);
  // Applies one body.
  void apply(const BodiesToApply::Body& body, Arena& arena);

  // The first failure of any thread: a record that does not fit the database, or contradicts
  // itself. Empty: none.
  std::string error() const;

 private:
  void prefetch(const RecordHeader& record) const;
  void apply(const LoggedWrite& write, uint64_t sequence, Arena& arena);
  void fail(std::string why);

  Database& database_;
  mutable platform::mutex mutex_;
  std::string error_;  // under mutex_
};

}  // namespace logjam
