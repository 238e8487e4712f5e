// A log's Lamport clock: global sequence numbers (GSN) that grow along dependencies and in the log
// (Aether, 7.3.3).
//
// Protocol. `clock_` only grows, by compare-and-swap (acquire and release): a thread that loads
// (acquire) a number sees everything that the threads which drew smaller or equal numbers did
// before they drew. Any thread may call any function.
#pragma once

#include <algorithm>
#include <cstdint>

#include "platform/atomic.h"

namespace logjam {

class alignas(platform::kCacheLine) GsnClock {
 public:
  // Returns a new number, larger than `depends_on` and than the clock, and sets the clock to it.
  uint64_t draw(uint64_t depends_on) {
    uint64_t seen = clock_.load(platform::memory_order_relaxed), gsn;
    do {
      gsn = std::max(seen, depends_on) + 1;
    } while (!clock_.compare_exchange_weak(seen, gsn, platform::memory_order_acq_rel,
                                           platform::memory_order_relaxed));
    return gsn;
  }
  // Raises the clock to a number drawn from another log.
  void raise(uint64_t gsn) { platform::atomic_max(clock_, gsn); }
  // Returns the largest number that the clock was set or raised to.
  uint64_t now() const { return clock_.load(platform::memory_order_acquire); }

 private:
  platform::atomic<uint64_t> clock_{0};
};

}  // namespace logjam
