// The times at which one worker's transactions arrive in an open loop: its part of --rate, at
// random distances (Poisson). The worker owns the object. Times are in ticks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/run_options.h"
#include "platform/assert.h"
#include "platform/clock.h"

namespace logjam {

class Arrivals {
 public:
  explicit Arrivals(const RunOptions& options)
      : mean_gap_(options.rate == 0
                      ? 0
                      : 1e9 * options.threads / options.rate / platform::ns_per_tick()) {}

  bool open() const { return mean_gap_ != 0; }

  // Sets the first arrival to a random distance after `now`.
  void begin(uint64_t now, uint64_t random) { next_ = now + gap(random); }
  // Returns the intended start of the next transaction.
  uint64_t next() const { return next_; }
  // Returns next(), and advances to the following arrival.
  uint64_t take(uint64_t random) {
    LJ_ASSERT_IN_TESTS(open() && next_ != 0);
    const uint64_t arrival = next_;
    next_ += gap(random);
    return arrival;
  }

  // Returns the number of arrivals from next() to `end`, as if all distances were equal. Calls
  // `visit(arrival, count)` for each group of `count` arrivals at about the time `arrival`.
  template <class Visit>
  uint64_t visit_until(uint64_t end, const Visit& visit) const {
    LJ_ASSERT(open());
    if (next_ > end) return 0;
    constexpr uint64_t kMostSteps = 1 << 16;
    const auto all = 1 + static_cast<uint64_t>(static_cast<double>(end - next_) / mean_gap_);
    const uint64_t step = 1 + all / kMostSteps;
    for (uint64_t i = 0; i < all; i += step) {
      const uint64_t arrival = next_ + static_cast<uint64_t>(static_cast<double>(i) * mean_gap_);
      visit(std::min(arrival, end), std::min(step, all - i));
    }
    return all;
  }

 private:
  uint64_t gap(uint64_t random) const {
    const double uniform = (static_cast<double>(random >> 11) + 1) / 9007199254740993.0;
    return static_cast<uint64_t>(-std::log(uniform) * mean_gap_);
  }

  const double mean_gap_;
  uint64_t next_ = 0;
};

}  // namespace logjam
