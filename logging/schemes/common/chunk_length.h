// How long a worker's next buffer chunk is (buffer_chunks.h). A short chunk leaves less padding
// when a flushing thread takes it; long chunks are taken from the stream's ring less often.
//
//   kAdaptive  as much as the worker fills in 16 us, plus 0.6 us for each owner, but at most half
//              of what it fills between two boundaries. On average half of a worker's last chunk
//              becomes padding: a fifth of the log if boundaries follow each other quickly, and
//              little where the device sets their pace. A worker that fills little takes a chunk
//              for each record.
//   kFixed     32 KiB, or more in a large ring
//   kRecord    as long as the record, but not below the shortest chunk, as in a shared buffer
#pragma once

#include <cstdint>

namespace logjam {

// The lengths of one stream's chunks. Any thread may call its functions.
class ChunkLength {
 public:
  enum class Rule : uint8_t { kFixed, kAdaptive, kRecord };

  static constexpr uint64_t kUnit = 8;  // the length of each record is a multiple of it

  // The bytes and chunks that a worker fills. Only the worker uses it.
  struct Filled {
    uint64_t boundary = 0;  // the newest boundary that the worker has seen
    uint64_t since = 0;     // when the worker saw that boundary, in ticks
    uint64_t bytes = 0;     // filled since then
    uint64_t chunks = 2;    // the number of chunks to take until the next boundary
    uint64_t length = 0;    // of the next chunk
  };

  // `owners` workers share a ring of `ring_bytes`.
  ChunkLength(uint64_t ring_bytes, uint32_t owners, Rule rule);

  // Returns the length of the shortest chunk. A chunk that is made for one record may be shorter,
  // by at most sizeof(RecordHeader).
  uint64_t least() const { return least_; }
  // Notes that the worker saw a new boundary at `now`, in ticks.
  void begin_interval(Filled& filled, uint64_t boundary, uint64_t now) const;
  // Returns the least length of the worker's next chunk. It does not fall before the next boundary.
  uint64_t next(Filled& filled) const;

 private:
  const uint64_t ticks_;  // how long a worker fills a chunk, at least
  const uint64_t least_, most_;
};

}  // namespace logjam
