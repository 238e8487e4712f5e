// A log's Lamport clock: sequence numbers (GSN) that grow along dependencies (Aether, 7.3.3).
//
// Protocol. `clock_` only grows, by read-modify-writes (acquire and release). A thread that loads
// (acquire) a number sees all that other threads did before they drew a smaller or equal number.
// Any thread may call any function.
//
// next() uses fetch-add. A compare-and-swap would fail when another thread is faster, so its cost
// would grow with contention. next() drops a number that is not larger than `depends_on`.
#pragma once

#include <algorithm>
#include <vector>

#include "platform/assert.h"
#include "platform/atomic.h"

namespace logjam {

class alignas(platform::kCacheLine) GsnClock {
 public:
  // Raises the clock to a new number, which is larger than `depends_on`. Returns the number.
  uint64_t next(uint64_t depends_on) {
    const uint64_t gsn = advance();
    if (gsn > depends_on) return gsn;
    raise(depends_on);
    const uint64_t larger = advance();
    LJ_ASSERT(larger > depends_on);
    return larger;
  }
  void raise(uint64_t gsn) { platform::atomic_max(clock_, gsn); }
  uint64_t now() const { return clock_.load(platform::memory_order_acquire); }

 private:
  uint64_t advance() { return clock_.fetch_add(1, platform::memory_order_acq_rel) + 1; }

  platform::atomic<uint64_t> clock_{0};
};

// Loads the clocks of `logs`, and then into `tails` the position up to which each log is reserved.
// Returns the least clock. A record with a GSN up to the least clock lies before its log's tail,
// because a worker reserves a record before it draws the GSN. Any thread may call it.
template <class Logs>
uint64_t load_tails(const Logs& logs, std::vector<uint64_t>& tails) {
  uint64_t least = ~uint64_t{0};
  for (const auto& log : logs) least = std::min(least, log->clock.now());
  for (size_t s = 0; s < logs.size(); ++s) tails[s] = logs[s]->buffer.reserved();
  return least;
}

}  // namespace logjam
