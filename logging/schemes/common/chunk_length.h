// How long a worker's next buffer chunk is (buffer_chunks.h). A short chunk wastes less when it is
// taken from its worker, and a long one is taken from the stream's ring less often.
//
// kAdaptive: a chunk is what its worker fills in 16 us, and 0.6 us for each owner, but at most half
// of what it fills between two boundaries. Half of its last chunk becomes padding: a fifth of the
// log if boundaries follow each other quickly, and little of it where the device sets their pace. A
// worker that fills little takes a chunk for each record.
//
// kFixed: 32 KiB, or more in a large ring. kRecord: a chunk for each record that is longer than the
// shortest chunk, as in a shared buffer.
#pragma once

#include <cstdint>

namespace logjam {

// The lengths of one stream's chunks. Any thread may call its functions.
class ChunkLength {
 public:
  enum class Rule : uint8_t { kFixed, kAdaptive, kRecord };

  static constexpr uint64_t kUnit = 8;  // of which the length of each record is a multiple

  // The bytes and chunks that a worker fills. Only the worker uses it.
  struct Filled {
    uint64_t boundary = 0;  // the newest boundary that the worker has seen
    uint64_t since = 0;     // when it saw that, in ticks
    uint64_t bytes = 0;     // filled since then
    uint64_t chunks = 2;    // how many chunks it is to take until the next boundary
    uint64_t length = 0;    // of its next chunk
  };

  // `owners` workers share a ring of `ring_bytes`.
  ChunkLength(uint64_t ring_bytes, uint32_t owners, Rule rule);

  // Returns the length of the shortest chunk. A chunk of one record may lack the length of a record
  // without a body.
  uint64_t least() const { return least_; }
  // Notes that the worker saw a new boundary at `now`, in ticks.
  void begin_interval(Filled& filled, uint64_t boundary, uint64_t now) const;
  // Returns the length of the worker's next chunk, at least. It does not become shorter until the
  // next boundary.
  uint64_t next(Filled& filled) const;

 private:
  const uint64_t ticks_;  // how long a worker fills a chunk, at least
  const uint64_t least_, most_;
};

}  // namespace logjam
