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
// holds, except drop_all(), which one thread calls when the others have been joined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "engine/storage/database.h"
#include "logging/format/log_reader.h"
#include "platform/atomic.h"

namespace logjam {

class WaitingRanges {
 public:
  struct Range {
    uint64_t sequence = 0;  // of the transaction that wrote it
    LogMemory image;        // logging/format/range_image.h
  };

  // Makes an object without ranges. `meter`, if there is one, counts the images that wait; it
  // outlives the object.
  explicit WaitingRanges(LogMemoryMeter* meter) : meter_(meter) {}

  // Adds a copy of `image`, which waits until `tuple` has the version `version`. The caller holds
  // the tuple's lock bit.
  void add(Tuple& tuple, uint64_t version, uint64_t sequence, std::span<const std::byte> image);
  // Takes the range that waits at `tuple` for the version `now`, which the tuple has got. Returns
  // one without an image if there is none. Drops the ranges that `now` has overtaken. The caller
  // holds the tuple's lock bit.
  Range take(Tuple& tuple, Version now);

  // Returns how many bytes of images wait. Any thread may call it.
  uint64_t bytes() const { return bytes_.load(platform::memory_order_relaxed); }
  // Frees all ranges that wait in `database`. If there are any, returns one sentence that names
  // one. No other thread uses the database meanwhile.
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

}  // namespace logjam
