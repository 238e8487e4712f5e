// Writes recovered rows into the database.
//
// Protocol. Appliers meet at a tuple's version word. The thread that sets its lock bit (acquire)
// may compare sequence numbers and write the row; its store of the new version (release) clears the
// lock bit and makes the row visible to the next thread that locks the tuple. A write with a
// smaller or equal sequence number changes nothing. So the write with the largest sequence number
// remains, in any order in which threads apply the writes of a tuple. An erase leaves an absent
// tuple with its sequence number, and an older insert that is applied later cannot bring the row
// back. A range image is applied to the version that it names, and waits for it if it must
// (waiting_ranges.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/recovery/transaction_assembler.h"
#include "engine/recovery/waiting_ranges.h"
#include "engine/storage/database.h"
#include "platform/mutex.h"

namespace logjam {

// Thread-safe: any number of threads may apply at the same time, each with an arena of its own.
class Applier {
 public:
  // Makes an applier for `database`, which outlives it. Only appliers may use the database
  // meanwhile. `meter`, if there is one, counts the memory of ranges that wait; it outlives the
  // applier.
  explicit Applier(Database& database, LogMemoryMeter* meter = nullptr)
      : database_(database), waiting_(meter) {}

  // Applies all bodies. Takes memory for new tuples and index nodes from `arena`, which belongs to
  // the calling thread.
  void apply(const BodiesToApply& ready, Arena& arena);
  // Applies one body.
  void apply(const BodiesToApply::Body& body, Arena& arena);

  // Returns how many bytes of ranges wait for the versions that they change.
  uint64_t waiting_bytes() const { return waiting_.bytes(); }

  // Returns the first failure of any thread, or an empty string: a record that does not fit the
  // database, or contradicts itself, or changes a version that no record wrote. Called once, by one
  // thread, when all is applied.
  std::string finish();

 private:
  void prefetch(const RecordHeader& record) const;
  void apply(const LoggedWrite& write, uint64_t sequence, Arena& arena);
  Version store(Table& table, Tuple& tuple, const LoggedWrite& write, uint64_t sequence,
                Arena& arena);
  void change(Table& table, Tuple& tuple, std::span<const std::byte> ranges, Arena& arena);
  void fail(std::string why);

  Database& database_;
  WaitingRanges waiting_;
  platform::mutex mutex_;
  std::string error_;  // under mutex_
};

}  // namespace logjam
