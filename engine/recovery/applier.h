// Writes recovered rows into the database.
//
// Protocol. The thread that sets the lock bit of a tuple's version word (acquire) may compare
// sequence numbers and write the row. Its store of the new version (release) clears the lock bit. A
// write changes nothing if the tuple has the same or a larger sequence number. So the write with
// the largest number remains, in whichever order threads apply the writes. An erase leaves an
// absent tuple with the erase's number, so an older insert cannot bring the row back. A range image
// waits until the row has the version that the image changes (WaitingRanges).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "engine/recovery/transaction_assembler.h"
#include "engine/storage/database.h"
#include "logging/format/log_reader.h"
#include "platform/atomic.h"
#include "platform/mutex.h"
#include "platform/thread_annotations.h"

namespace logjam {

// The logged ranges that wait, during a replay, until their row has the version that they change.
// If this version never comes, the log is damaged, and drop_all() reports it.
//
// Protocol. The ranges that wait at a tuple are in a map to which Tuple::lock points (0: no map).
// No transaction uses the lock during a replay. The thread that holds the lock bit of the tuple's
// version may change the pointer and the map. Its store of the version (release) makes the map
// visible to the next thread that sets the bit (acquire), so the accesses of Tuple::lock are
// relaxed. The counters are relaxed, because only drop_all() trusts them, and one thread calls it
// after all appliers' threads are joined.
class WaitingRanges {
 public:
  struct Range {
    uint64_t sequence = 0;  // of the transaction that wrote the range
    LogMemory image;        // logging/format/range_image.h
  };

  // Counts the images with `meter` (null: none), which outlives the object.
  explicit WaitingRanges(LogMemoryMeter* meter) : meter_(meter) {}

  // Adds a copy of `image`, which waits until `tuple` has the version `version`.
  void add(Tuple& tuple, uint64_t version, uint64_t sequence, std::span<const std::byte> image);
  // Takes the range that waits for `now`, the present version of `tuple`. Returns a Range without
  // an image if no range waits for this version. Drops the ranges that wait for earlier versions.
  Range take(Tuple& tuple, Version now);

  uint64_t bytes() const { return bytes_.load(platform::memory_order_relaxed); }
  // Frees all ranges that wait in `database`, which no other thread uses. Returns one sentence that
  // names one of these ranges, or an empty string if there was none.
  std::string drop_all(Database& database);

 private:
  using Map = std::multimap<uint64_t, Range>;  // by the version that the range changes

  static Map* map_of(const Tuple& tuple) {
    return reinterpret_cast<Map*>(tuple.lock.load(platform::memory_order_relaxed));
  }
  void forget(const Range& range) {
    bytes_.fetch_sub(range.image->size(), platform::memory_order_relaxed);
    count_.fetch_sub(1, platform::memory_order_relaxed);
  }

  LogMemoryMeter* const meter_;
  platform::atomic<uint64_t> bytes_{0}, count_{0};
};

// Applies logged writes. Several threads may call apply() at once, each with its own arena.
class Applier {
 public:
  // Counts the memory of waiting ranges with `meter` (null: none). `database`, which only appliers
  // use, and `meter` outlive the applier.
  explicit Applier(Database& database, LogMemoryMeter* meter = nullptr)
      : database_(database), waiting_(meter) {}

  void apply(const BodiesToApply& ready, Arena& arena);
  void apply(const BodiesToApply::Body& body, Arena& arena);

  uint64_t waiting_bytes() const { return waiting_.bytes(); }

  // Returns the first failure of any thread, or an empty string. A record fails if it does not fit
  // the database, contradicts itself, or changes a version that no record wrote.
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
  std::string error_ LJ_GUARDED_BY(mutex_);
};

}  // namespace logjam
