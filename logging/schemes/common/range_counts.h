// A table with the number of filled bytes of each range [i * size, (i + 1) * size) of the log. It
// is ELEDA's hopping index (section 3.2), and the segment counts of the fetch-add log that Poplar
// compares with.
//
// Successive laps of the ring share the table. ELEDA's Algorithm 1 (line 6) resets an entry. Here
// an entry is never reset, because a publisher may add its bytes *after* crawling has passed the
// record. With a reset, these bytes would count for a range of the next lap.
//
// Protocol. A publisher adds its bytes (release) when they are filled, each byte once. Range i of
// entry e is full when e counts all bytes of this lap and of all earlier laps. A load (acquire)
// then sees the bytes of all publishers, because read-modify-writes continue each other's release.
//
// Why the count of an entry proves that the range of each lap is full. No range gets more bytes
// than its size. While the caller's watermark is in range i, no publisher adds bytes of the entry's
// next lap, because the ring is shorter than the table.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "platform/assert.h"
#include "platform/atomic.h"

namespace logjam {

class RangeCounts {
 public:
  RangeCounts(uint64_t range_bytes, uint64_t ring_bytes)
      : shift_(static_cast<uint32_t>(std::countr_zero(range_bytes))),
        entries_(std::bit_ceil((ring_bytes >> shift_) + 2)),
        lap_shift_(static_cast<uint32_t>(std::countr_zero(entries_.size()))) {
    LJ_ASSERT(std::has_single_bit(range_bytes));
  }

  uint64_t size() const { return entries_.size(); }
  uint64_t range_of(uint64_t position) const { return position >> shift_; }
  uint64_t begin_of(uint64_t range) const { return range << shift_; }

  void add(uint64_t begin, uint64_t end) {
    LJ_ASSERT_IN_TESTS(begin < end);
    while (true) {
      const uint64_t range = range_of(begin);
      const uint64_t stop = std::min(end, begin_of(range + 1));
      entries_[index_of(range)]->fetch_add(stop - begin, platform::memory_order_release);
      if (stop == end) return;
      begin = stop;
    }
  }

  // Returns how many bytes of `range` are filled. The caller's watermark must be in `range` or
  // before it, also for full(). Any thread may call both functions.
  uint64_t filled_bytes(uint64_t range) const {
    const uint64_t counted = entries_[index_of(range)]->load(platform::memory_order_acquire);
    const uint64_t filled = counted - begin_of(range >> lap_shift_);
    LJ_ASSERT_IN_TESTS(filled <= begin_of(1));
    return filled;
  }
  bool full(uint64_t range) const { return filled_bytes(range) == begin_of(1); }

 private:
  uint64_t index_of(uint64_t range) const { return range & (size() - 1); }

  const uint32_t shift_;
  std::vector<platform::Padded<platform::atomic<uint64_t>>> entries_;
  const uint32_t lap_shift_;
};

}  // namespace logjam
