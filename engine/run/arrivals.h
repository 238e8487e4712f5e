// The times at which one worker's transactions arrive in an open loop: its part of --rate, at
// random distances (Poisson), or the times that its client has. The rate may change at given
// times. Times are in ticks.
//
// Protocol. The worker owns its Arrivals. An ArrivalRate never changes, so other threads may read
// it once its address is published (WorkerTimeline::next_arrival).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/run_options.h"
#include "platform/assert.h"
#include "platform/clock.h"

namespace logjam {

// Draws from the exponential distribution with mean 1. `random` is uniform over all 64 bits.
inline double exponential(uint64_t random) {
  return -std::log((static_cast<double>(random >> 11) + 1) / 9007199254740993.0);
}

// The mean rate of one worker's arrivals: a step function of the time.
class ArrivalRate {
 public:
  // `begin`: when the worker starts. The first rate of options.rates also holds in the warm-up.
  ArrivalRate(const RunOptions& options, uint64_t begin) {
    LJ_ASSERT(!options.rates.empty());
    for (const RateStep& step : options.rates) {
      const double from_ns = 1e9 * (options.warmup_seconds + step.from_seconds);
      steps_.push_back({.from = begin + platform::ns_to_ticks(from_ns),
                        .per_tick = step.per_second * platform::ns_per_tick() * 1e-9 /
                                    static_cast<double>(options.threads)});
    }
    steps_.front().from = 0;
  }

  // Returns the time until which `count` transactions arrive after `at`, on average. Returns kNever
  // if fewer arrive.
  uint64_t after(uint64_t at, double count) const {
    for (const Step* step = step_at(at);; ++step) {
      const bool last = step == &steps_.back();
      const uint64_t end = last ? kNever : step[1].from;
      const double in_step = static_cast<double>(end - at) * step->per_tick;
      if (count < in_step) return at + static_cast<uint64_t>(count / step->per_tick);
      if (last) return kNever;
      count -= in_step;
      at = end;
    }
  }

  // Returns the mean number of arrivals between two times; 0 if `to` is not after `from`.
  double between(uint64_t from, uint64_t to) const {
    double count = 0;
    for (const Step* step = step_at(from); from < to; ++step) {
      const uint64_t end = step == &steps_.back() ? to : std::min(to, step[1].from);
      count += static_cast<double>(end - from) * step->per_tick;
      from = end;
    }
    return count;
  }

 private:
  static constexpr uint64_t kNever = uint64_t{1} << 62;

  struct Step {
    uint64_t from = 0;
    double per_tick = 0;
  };
  const Step* step_at(uint64_t at) const {
    const auto next = std::ranges::upper_bound(steps_, at, {}, &Step::from);
    return &*std::prev(next);
  }

  std::vector<Step> steps_;
};

class Arrivals {
 public:
  // Takes the times of Client::arrivals_ns(), or the rates of --rate if there are none.
  explicit Arrivals(const RunOptions& options, std::span<const uint64_t> times_ns = {})
      : options_(options), times_ns_(times_ns) {}

  bool open() const { return !options_.rates.empty() || !times_ns_.empty(); }

  // Sets the first arrival. `now`: when the worker starts.
  void begin(uint64_t now, uint64_t random) {
    begun_ = now;
    if (times_ns_.empty()) rate_.emplace(options_, now);
    next_ = following(now, random);
  }
  // Returns the rate, or null if the client has times of its own. Call it after begin().
  const ArrivalRate* rate() const { return rate_.has_value() ? &*rate_ : nullptr; }
  // Returns the intended start of the next transaction.
  uint64_t next() const { return next_; }
  // Returns next(), and advances to the following arrival.
  uint64_t take(uint64_t random) {
    LJ_ASSERT_IN_TESTS(open() && next_ != 0);
    const uint64_t arrival = next_;
    ++taken_;
    next_ = following(next_, random);
    return arrival;
  }

  // Returns the number of arrivals from next() to `end`, as if all distances of --rate were the
  // mean. Calls `visit(arrival, count)` for each group of `count` arrivals, at about their time.
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
    const auto all = 1 + static_cast<uint64_t>(rate_->between(next_, end));
    const uint64_t step = 1 + all / kMostSteps;
    uint64_t arrival = next_;
    for (uint64_t i = 0; i < all; i += step) {
      visit(std::min(arrival, end), std::min(step, all - i));
      arrival = rate_->after(arrival, static_cast<double>(step));
    }
    return all;
  }

 private:
  uint64_t following(uint64_t last, uint64_t random) const {
    return rate_.has_value() ? rate_->after(last, exponential(random)) : time(taken_);
  }

  // Returns the time of the client's arrival number `index`, or for ever after the last one.
  uint64_t time(uint64_t index) const {
    if (index >= times_ns_.size()) return ~uint64_t{0};
    return begun_ + platform::ns_to_ticks(static_cast<double>(times_ns_[index]));
  }

  const RunOptions& options_;
  const std::span<const uint64_t> times_ns_;
  std::optional<ArrivalRate> rate_;  // none before begin(), and if the client has times
  uint64_t begun_ = 0, taken_ = 0, next_ = 0;
};

}  // namespace logjam
