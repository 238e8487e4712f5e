// The times at which one worker's transactions arrive in an open loop: its part of --rate, at
// random distances (Poisson), or the times that its client has. The worker owns the object. Times
// are in ticks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "engine/run_options.h"
#include "platform/assert.h"
#include "platform/clock.h"

namespace logjam {

class Arrivals {
 public:
  // Takes the times of Client::arrivals_ns(), or the rate of --rate if there are none.
  explicit Arrivals(const RunOptions& options, std::span<const uint64_t> times_ns = {})
      : mean_gap_(
            options.rate == 0 ? 0 : 1e9 * options.threads / options.rate / platform::ns_per_tick()),
        times_ns_(times_ns) {}

  bool open() const { return mean_gap_ != 0 || !times_ns_.empty(); }

  // Sets the first arrival to its time after `now`, or to a random distance.
  void begin(uint64_t now, uint64_t random) {
    begun_ = now;
    next_ = times_ns_.empty() ? now + gap(random) : time(0);
  }
  // Returns the intended start of the next transaction.
  uint64_t next() const { return next_; }
  // Returns next(), and advances to the following arrival.
  uint64_t take(uint64_t random) {
    LJ_ASSERT_IN_TESTS(open() && next_ != 0);
    const uint64_t arrival = next_;
    ++taken_;
    next_ = times_ns_.empty() ? next_ + gap(random) : time(taken_);
    return arrival;
  }

  // Returns the number of arrivals from next() to `end`, as if all distances of --rate were equal.
  // Calls `visit(arrival, count)` for each group of `count` arrivals at about the time `arrival`.
  template <class Visit>
  uint64_t visit_until(uint64_t end, const Visit& visit) const {
    LJ_ASSERT(open());
    if (!times_ns_.empty()) {
      uint64_t all = 0;
      for (; time(taken_ + all) <= end; ++all) visit(time(taken_ + all), 1);
      return all;
    }
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

  // Returns the time of the client's arrival number `index`, or for ever after the last one.
  uint64_t time(uint64_t index) const {
    if (index >= times_ns_.size()) return ~uint64_t{0};
    return begun_ + platform::ns_to_ticks(static_cast<double>(times_ns_[index]));
  }

  const double mean_gap_;
  const std::span<const uint64_t> times_ns_;
  uint64_t begun_ = 0, taken_ = 0, next_ = 0;
};

}  // namespace logjam
