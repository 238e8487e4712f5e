// Writes recovered rows into the database.
//
// Protocol. Appliers meet at a tuple's version word. The thread that sets its lock bit (acquire)
// may compare sequence numbers and write the row; its store of the new version (release) clears the
// lock bit and makes the row visible to the next thread that locks the tuple. A write with a
// smaller or equal sequence number changes nothing. So the write with the largest sequence number
// remains, in any order in which threads apply the writes of a tuple. An erase leaves an absent
// tuple with its sequence number, and an older insert that is applied later cannot bring the row
// back. A range image changes the version that it names, and waits until the row has that version
// (WaitingRanges).
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

// Logged ranges that wait, while a log is replayed, for the version of their row that they change.
//
// A range image names the version that it changes, so appliers can apply the records of all streams
// in any order. Where the row has an earlier version, the range waits at its tuple until a thread
// has applied that version. A range whose version never comes is damage, and drop_all() says so.
//
// Protocol. The ranges that wait at a tuple are in a map to which Tuple::lock points, which is 0
// otherwise: no transaction runs during a replay. The thread that holds the lock bit of the tuple's
// version (applier.h) may follow the pointer, and change it and the map. Its store of the version
// (release) makes the map visible to the next thread that sets the bit (acquire), so the accesses
// of Tuple::lock are relaxed. The counters are atomic; no thread concludes from them what a map
// holds, except drop_all(), which one thread calls after it has joined the others.
class WaitingRanges {
 public:
  struct Range {
    uint64_t sequence = 0;  // of the transaction that wrote it
    LogMemory image;        // logging/format/range_image.h
  };

  // Makes an object without ranges. `meter`, if there is one, counts the images that wait; it
  // outlives the object.
  explicit WaitingRanges(LogMemoryMeter* meter) : meter_(meter) {}

  // Adds a copy of `image`, which waits until `tuple` has the version `version`.
  void add(Tuple& tuple, uint64_t version, uint64_t sequence, std::span<const std::byte> image);
  // Takes the range that waits at `tuple` for the version `now`, which the tuple has got. Returns a
  // Range without an image if none waits. Drops the ranges that `now` has overtaken.
  Range take(Tuple& tuple, Version now);

  // Returns how many bytes of images wait.
  uint64_t bytes() const { return bytes_.load(platform::memory_order_relaxed); }
  // Frees all ranges that wait in `database`, which no other thread uses. If there are any, returns
  // one sentence that names a range.
  std::string drop_all(Database& database);

 private:
  using Map = std::multimap<uint64_t, Range>;  // by the version that they change

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

// Several threads may apply at the same time, each with an arena of its own.
class Applier {
 public:
  // Makes an applier for `database`, which outlives it, and which only appliers use. `meter`, if
  // there is one, counts the memory of ranges that wait; it outlives the applier.
  explicit Applier(Database& database, LogMemoryMeter* meter = nullptr)
      : database_(database), waiting_(meter) {}

  // Applies all bodies. Takes memory for new tuples and index nodes from `arena`, which belongs to
  // the calling thread.
  void apply(const BodiesToApply& ready, Arena& arena);
  // Applies one body.
  void apply(const BodiesToApply::Body& body, Arena& arena);

  // Returns how many bytes of ranges wait for the versions that they change.
  uint64_t waiting_bytes() const { return waiting_.bytes(); }

  // Ends the replay: all is applied. Returns the first failure of any thread, or an empty string: a
  // record that does not fit the database, or contradicts itself, or changes a version that no
  // record wrote.
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
