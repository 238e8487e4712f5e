// Rules for the length of a worker's next buffer chunk (buffer_chunks.h). With longer chunks, the
// worker takes fewer chunks, but more padding is left when a flushing thread takes a chunk. The
// length changes no order, so each rule suits each scheme with chunks (LogParts::chunks).
//
//   kAdaptive  as much as the worker fills in 16 us plus 0.6 us for each owner, but at most half of
//              what the worker fills between two boundaries. On average half of a worker's last
//              chunk before a boundary becomes padding. This padding is a fifth of the log if
//              boundaries are frequent, and little if they come at the pace of the device. A worker
//              that fills little takes a chunk for each record.
//   kFixed     32 KiB, or more in a large ring
#pragma once

#include <algorithm>

#include "logging/log_parts.h"
#include "platform/clock.h"

namespace logjam {

// The lengths of one stream's chunks. Any thread may call its functions.
class ChunkLength {
 public:
  enum class Rule : uint8_t { kFixed, kAdaptive };

  static constexpr uint64_t kUnit = 8;  // the length of each record is a multiple of it

  static Rule rule_of(const LogParts& parts) {
    return parts.chunks ? Rule::kAdaptive : Rule::kFixed;
  }

  // The bytes and chunks that a worker fills. Only this worker uses it.
  struct Filled {
    uint64_t boundary = 0;  // the newest boundary that the worker has seen
    uint64_t since = 0;     // when the worker saw that boundary, in ticks
    uint64_t bytes = 0;     // the bytes filled since then
    uint64_t chunks = 2;    // the number of chunks to take until the next boundary
    uint64_t length = 0;    // the length of the next chunk
  };

  ChunkLength(uint64_t ring_bytes, uint32_t owners, Rule rule)
      : ticks_(platform::ns_to_ticks(kChunkNs + kChunkNsOfOwner * owners)),
        least_(rule == Rule::kFixed ? longest(ring_bytes, owners) : shortest(ring_bytes, owners)),
        most_(longest(ring_bytes, owners)) {}

  // Returns the least length of a chunk. A chunk for one record may be a RecordHeader shorter.
  uint64_t least() const { return least_; }
  // Notes that the worker saw a new boundary at `now`, in ticks.
  void begin_interval(Filled& filled, uint64_t boundary, uint64_t now) const {
    const uint64_t chunks = std::clamp((now - filled.since) / ticks_, kLeastChunks, kMostChunks);
    filled = {.boundary = boundary,
              .since = now,
              .chunks = chunks,
              .length = in_units(filled.bytes / chunks)};
  }
  // Returns the least length of the worker's next chunk, which only grows until the next boundary.
  uint64_t next(Filled& filled) const {
    const uint64_t share = in_units(filled.bytes / filled.chunks);
    filled.length = std::clamp(std::max(filled.length, share), least_, most_);
    return filled.length;
  }

 private:
  static constexpr uint64_t kFixedBytes = uint64_t{32} << 10, kLeastBytes = 256;
  static constexpr uint64_t kLeastChunks = 2, kMostChunks = 64;  // between two boundaries
  static constexpr double kChunkNs = 16e3, kChunkNsOfOwner = 600;
  static constexpr uint64_t kChunksOfRing = 4;      // the fewest chunks in the ring for each owner
  static constexpr uint64_t kMostOfRing = 1 << 15;  // about the most chunks in the ring
  static constexpr uint64_t kMostShort = 1 << 16;   // about the most short chunks in the ring

  static uint64_t in_units(uint64_t bytes) { return bytes & ~(kUnit - 1); }
  static uint64_t longest(uint64_t ring_bytes, uint32_t owners) {
    const uint64_t most = ring_bytes / (kChunksOfRing * (owners + 1));
    return in_units(std::min(std::max(kFixedBytes, ring_bytes / kMostOfRing), most));
  }
  static uint64_t shortest(uint64_t ring_bytes, uint32_t owners) {
    return std::min(in_units(std::max(kLeastBytes, ring_bytes / kMostShort)),
                    longest(ring_bytes, owners));
  }

  const uint64_t ticks_;  // the least time for which a worker fills a chunk
  const uint64_t least_, most_;
};

}  // namespace logjam
