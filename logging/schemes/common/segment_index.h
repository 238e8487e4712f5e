// Poplar's segment index (section 4.3, figure 4). A log buffer has segments of any length. Each
// segment has one count of filled bytes, which tells whether the segment has a hole.
//
// A segment is open while records are allocated in it. It is closed by the worker whose record
// makes the segment an I/O unit long, or by a flusher that is about to write. A segment is passed
// when it is closed and all its bytes are filled. If the index is full, the open segment grows.
//
// Protocol. open() and close() are called under the buffer's latch, and advance() under a latch of
// the flushers. Publishers add to `buffered` (release) and advance() loads it (acquire): a thread
// that finds `buffered` equal to `allocated` sees all bytes of the segment. close() stores
// `closed_` (release), and advance() loads it (acquire) before it reads what close() wrote.
// advance() stores `passed_` (release) when it no longer needs an entry, and full() loads it
// (acquire), so that close() reuses the entry only after the store.
//
// passable() decides without the latch. A thread that closes or fills a segment fences, then loads
// `passed_`; advance() stores `passed_`, fences, then loads whether the next segment is closed and
// filled. So at least one of the two threads finds the segment passable. If an entry is reused
// while passable() reads it, `passed_` has changed, and passable() begins again.
#pragma once

#include <bit>
#include <vector>

#include "platform/assert.h"
#include "platform/atomic.h"

namespace logjam {

class SegmentIndex {
 public:
  explicit SegmentIndex(uint64_t least_entries) : entries_(std::bit_ceil(least_entries + 2)) {}

  // Returns the number of the open segment, for filled().
  uint32_t open() const { return index_of(closed_.load(platform::memory_order_relaxed)); }
  void filled(uint32_t segment, uint64_t bytes) {
    entries_[segment].buffered.fetch_add(bytes, platform::memory_order_release);
  }

  bool full() const {
    return closed_.load(platform::memory_order_relaxed) + 1 -
               passed_.load(platform::memory_order_acquire) >=
           entries_.size();
  }
  // Closes the open segment, in which `bytes` were allocated, and opens the next one. The last
  // record of the closed segment ends at `end` and has the segment's largest number, `sequence`.
  void close(uint64_t bytes, uint64_t end, uint64_t sequence) {
    LJ_ASSERT(!full() && bytes != 0);
    const uint64_t number = closed_.load(platform::memory_order_relaxed);
    Entry& segment = entries_[index_of(number)];
    segment.allocated.store(bytes, platform::memory_order_relaxed);
    segment.end = end;
    segment.sequence = sequence;
    entries_[index_of(number + 1)].buffered.store(0, platform::memory_order_relaxed);
    closed_.store(number + 1, platform::memory_order_release);
  }

  // Returns whether a closed segment is not passed yet. Any thread may call it.
  bool pending() const {
    return passed_.load(platform::memory_order_relaxed) !=
           closed_.load(platform::memory_order_acquire);
  }
  // Returns whether the first segment that is not passed is closed and filled. Callers ask before
  // they take the flushers' latch, for which many threads contend. Any thread may call it.
  bool passable() const {
    if (!pending()) return false;
    platform::full_fence();
    for (;;) {
      const uint64_t passed = passed_.load(platform::memory_order_acquire);
      if (passed == closed_.load(platform::memory_order_acquire)) return false;
      const Entry& segment = entries_[index_of(passed)];
      const bool filled = segment.buffered.load(platform::memory_order_acquire) ==
                          segment.allocated.load(platform::memory_order_acquire);
      if (passed_.load(platform::memory_order_relaxed) == passed) return filled;
    }
  }
  uint64_t closed() const { return closed_.load(platform::memory_order_relaxed); }
  // Passes the segments that are closed and filled, in order, up to the first one that is not.
  // Calls `pass(end, sequence)` for each.
  template <class Pass>
  void advance(const Pass& pass) {
    uint64_t passed = passed_.load(platform::memory_order_relaxed);
    for (; passed != closed_.load(platform::memory_order_acquire); ++passed) {
      const Entry& segment = entries_[index_of(passed)];
      const uint64_t allocated = segment.allocated.load(platform::memory_order_relaxed);
      const uint64_t buffered = segment.buffered.load(platform::memory_order_acquire);
      LJ_ASSERT(buffered <= allocated);
      if (buffered != allocated) break;
      pass(segment.end, segment.sequence);
      passed_.store(passed + 1, platform::memory_order_release);
      platform::full_fence();
    }
  }

 private:
  struct alignas(platform::kCacheLine) Entry {
    platform::atomic<uint64_t> allocated{0};
    uint64_t end = 0, sequence = 0;
    platform::atomic<uint64_t> buffered{0};
  };

  uint32_t index_of(uint64_t number) const {
    return static_cast<uint32_t>(number & (entries_.size() - 1));
  }

  std::vector<Entry> entries_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> closed_{0};
  platform::atomic<uint64_t> passed_{0};
};

}  // namespace logjam
