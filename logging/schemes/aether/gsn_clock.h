// A log's Lamport clock: global sequence numbers (GSN) that grow along dependencies and in the log
// (Aether, 7.3.3).
//
// Protocol. `clock_` only grows, by read-modify-writes (acquire and release): a thread that loads
// (acquire) a number sees everything that the threads which drew smaller or equal numbers did
// before they drew. Any thread may call any function.
//
// next() is a fetch-add. The cost of a compare-and-swap grows with the number of threads that
// contend, because it fails when another thread was faster; the cost of a fetch-add does not. If
// the number is too small, next() drops it, raises the clock and adds again.
#pragma once

#include <cstdint>

#include "platform/assert.h"
#include "platform/atomic.h"

namespace logjam {

class alignas(platform::kCacheLine) GsnClock {
 public:
  // Returns a new number, larger than `depends_on` and than the clock, and sets the clock to it.
  uint64_t next(uint64_t depends_on) {
    const uint64_t gsn = advance();
    if (gsn > depends_on) return gsn;
    raise(depends_on);
    const uint64_t larger = advance();
    LJ_ASSERT(larger > depends_on);
    return larger;
  }
  // Raises the clock to a number drawn from another log.
  void raise(uint64_t gsn) { platform::atomic_max(clock_, gsn); }
  // Returns the largest number that the clock was set or raised to.
  uint64_t now() const { return clock_.load(platform::memory_order_acquire); }

 private:
  uint64_t advance() { return clock_.fetch_add(1, platform::memory_order_acq_rel) + 1; }

  platform::atomic<uint64_t> clock_{0};
};

}  // namespace logjam
