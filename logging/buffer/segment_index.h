// Poplar's segment index (section 4.3, figure 4): a log buffer's records, grouped into segments of
// any length, so that one count of filled bytes a segment tells whether it has a hole.
//
// A segment is open while records are allocated in it, then closed (by the worker whose record
// makes it an I/O unit long, or by a flusher that finds nothing else to flush), and passed when it
// is closed and all its bytes are filled. If the index is full the open segment just grows.
//
// Protocol. allocate() and close() under the buffer's latch; advance() under a latch of flushers.
// `buffered` is added to by publishers (release) and read by advance() (acquire): whoever finds it
// equal to `allocated` sees all bytes of the segment. `closed_` is stored (release) by close() and
// loaded (acquire) by advance(), before it reads what close() wrote; `passed_` likewise the other
// way round, before close() opens an entry again.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "platform/atomic.h"

namespace logjam {

class SegmentIndex {
 public:
  explicit SegmentIndex(uint64_t least_entries) : entries_(std::bit_ceil(least_entries + 2)) {}

  // The segment of the next `bytes`: for filled().
  uint32_t allocate(uint64_t bytes) {
    entries_[open_].allocated += bytes;
    open_bytes_.store(entries_[open_].allocated, platform::memory_order_relaxed);
    return open_;
  }
  void filled(uint32_t segment, uint64_t bytes) {
    entries_[segment].buffered.fetch_add(bytes, platform::memory_order_release);
  }

  uint64_t open_bytes() const { return open_bytes_.load(platform::memory_order_relaxed); }
  bool full() const {
    return closed_.load(platform::memory_order_relaxed) + 1 -
               passed_.load(platform::memory_order_acquire) >=
           entries_.size();
  }
  // Not when full. The segment's last record ends at `end`, and has the largest number.
  void close(uint64_t end, uint64_t sequence) {
    entries_[open_].end = end;
    entries_[open_].sequence = sequence;
    const uint64_t next = closed_.load(platform::memory_order_relaxed) + 1;
    open_ = static_cast<uint32_t>(next & (entries_.size() - 1));
    entries_[open_].allocated = 0;
    entries_[open_].buffered.store(0, platform::memory_order_relaxed);
    open_bytes_.store(0, platform::memory_order_relaxed);
    closed_.store(next, platform::memory_order_release);
  }

  // Whether a closed segment waits to be passed.
  bool pending() const {
    return passed_.load(platform::memory_order_relaxed) !=
           closed_.load(platform::memory_order_acquire);
  }
  // Passes what is closed and filled, calling `pass(end, sequence)` for each.
  template <class Pass>
  void advance(const Pass& pass) {
    uint64_t passed = passed_.load(platform::memory_order_relaxed);
    for (; passed != closed_.load(platform::memory_order_acquire); ++passed) {
      const Entry& segment = entries_[passed & (entries_.size() - 1)];
      if (segment.buffered.load(platform::memory_order_acquire) != segment.allocated) break;
      pass(segment.end, segment.sequence);
      passed_.store(passed + 1, platform::memory_order_release);
    }
  }

 private:
  struct alignas(platform::kCacheLine) Entry {
    uint64_t allocated = 0, end = 0, sequence = 0;
    platform::atomic<uint64_t> buffered{0};
  };

  std::vector<Entry> entries_;
  uint32_t open_ = 0;
  platform::atomic<uint64_t> open_bytes_{0};
  alignas(platform::kCacheLine) platform::atomic<uint64_t> closed_{0};
  platform::atomic<uint64_t> passed_{0};
};

}  // namespace logjam
