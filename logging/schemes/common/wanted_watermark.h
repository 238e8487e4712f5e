// The largest sequence number that a commit waits for, in schemes with several streams. A stream
// whose watermark is smaller must catch up, although it has nothing to write (R5).
//
// Protocol. A thread raises the number *before* another thread can wait for it: before it publishes
// the record, or before a reader parks. A flusher that finds a record filled therefore also finds
// what its publisher wants. Each slot is raised by atomic_max, seq_cst. One slot for each worker or
// stream keeps workers off each other's cache lines. Any thread may call wanted().
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "platform/atomic.h"

namespace logjam {

class WantedWatermark {
 public:
  explicit WantedWatermark(uint32_t slots) : slots_(slots) {}

  // Raises `slot` to `sequence`. Returns whether `sequence` is larger than the number in `slot`
  // before. Called by the worker (or a worker of the stream) of `slot`.
  bool raise(uint32_t slot, uint64_t sequence) {
    return platform::atomic_max(*slots_[slot], sequence, platform::memory_order_seq_cst);
  }
  // Returns the largest number that any slot wants, 0 if none does.
  uint64_t wanted() const {
    uint64_t most = 0;
    for (const auto& slot : slots_) most = std::max(most, slot->load());
    return most;
  }

 private:
  std::vector<platform::Padded<platform::atomic<uint64_t>>> slots_;
};

}  // namespace logjam
