// How many bytes of each range [i * size, (i + 1) * size) of the log are filled: ELEDA's hopping
// index (section 3.2), and the segment counts of the fetch-add log that Poplar compares with.
//
// The table is shared by successive laps of the ring. Unlike in ELEDA's Algorithm 1 (line 6) its
// entries are never reset, they count on from lap to lap: a publisher may add its bytes *after* its
// record was passed by crawling, and would fill a range of the next lap with them. So only
// publishers write, as Table 2 wants it.
//
// Protocol. Publishers add (release) when their bytes are filled, each byte once. Range i of entry
// e is full when e has the bytes of this and all earlier laps (acquire: all publishers' bytes are
// seen then, read-modify-writes continue each other's release). Why the sum proves that each range
// is full: no range gets more than its size, and nobody adds to the entry's next lap while the
// reader's watermark is in range i, for the ring is shorter than the table: a hole ends at most
// `capacity` after the watermark.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "platform/atomic.h"

namespace logjam {

class RangeCounts {
 public:
  // `range_bytes` is a power of two.
  RangeCounts(uint64_t range_bytes, uint64_t ring_bytes)
      : shift_(static_cast<uint32_t>(std::countr_zero(range_bytes))),
        entries_(std::bit_ceil((ring_bytes >> shift_) + 2)),
        lap_shift_(static_cast<uint32_t>(std::countr_zero(entries_.size()))) {}

  uint64_t size() const { return entries_.size(); }
  uint64_t range_of(uint64_t position) const { return position >> shift_; }
  uint64_t begin_of(uint64_t range) const { return range << shift_; }

  // A publisher filled [begin, end); what straddles a boundary counts on both sides.
  void add(uint64_t begin, uint64_t end) {
    while (true) {
      const uint64_t range = range_of(begin);
      const uint64_t stop = std::min(end, begin_of(range + 1));
      entry(range).fetch_add(stop - begin, platform::memory_order_release);
      if (stop == end) return;
      begin = stop;
    }
  }

  // Of the range with the watermark, or one after it.
  uint64_t filled_bytes(uint64_t range) const {
    return entry(range).load(platform::memory_order_acquire) - begin_of(range >> lap_shift_);
  }
  bool full(uint64_t range) const { return filled_bytes(range) == begin_of(1); }

 private:
  platform::atomic<uint64_t>& entry(uint64_t range) { return *entries_[range & (size() - 1)]; }
  const platform::atomic<uint64_t>& entry(uint64_t range) const {
    return *entries_[range & (size() - 1)];
  }

  const uint32_t shift_;
  std::vector<platform::Padded<platform::atomic<uint64_t>>> entries_;
  const uint32_t lap_shift_;
};

}  // namespace logjam
