// The gap between two writes of a stream while workers are busy (--flush_gap_us), fixed or chosen
// in the run.
//
// A short gap costs throughput: each write takes processor time from the workers. A long gap costs
// latency: a commit waits for half a period on average, and then for its write. --flush_gap_us=auto
// chooses the period P between two writes at which the ratio of throughput to latency is largest.
// Kleinrock calls that ratio power (ICC 1979): there, one per cent of throughput costs one per cent
// of latency. If a write takes the time `a` from each worker and needs `d` itself,
//
//   power(P) = (1 - a / P) / (P / 2 + d), with its maximum at P = a + sqrt(a * a + 2 * a * d).
//
// --flush_gap_us=auto:L spends a given latency instead: P = 2 * (L - d), so that a commit is
// durable after L on average. Its worker may acknowledge it later.
//
// `d` is the time that a byte of the log waits until it is durable, less P / 2. The mean wait
// follows from Little's law: it is the integral of the bytes that wait, divided by the bytes that
// came. So the commits of a late or slow flush count as often as there are of them. `a` is the
// workers' run delay (platform/run_delay.h) and the time in which they flush themselves, for each
// worker and each period. All streams of a scheme are alike: if there are several, the workers lose
// what all of them write in a period. Not measured: the time that interrupts take, and what a write
// evicts from the workers' caches. Where other programs keep the cores busy, `a` includes them, so
// the period has a bound.
//
// Protocol. The stream calls all functions but ticks() under its flush latch. ticks_ and
// least_ticks_ are stored there; any thread loads them, and needs nothing that was stored before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "logging/log_config.h"
#include "platform/atomic.h"

namespace logjam {

// Returns the period of the greatest power, in the unit of the arguments. `lost` is what a write
// takes from each worker, `write` is the time that it needs.
double period_of_most_power(double lost, double write);
// Returns the period with which a commit waits for `latency` on average, in the unit of the
// arguments; 0 if that is not more than the time that a write needs.
double period_of_latency(double latency, double write);

class FlushGap {
 public:
  explicit FlushGap(const LogConfig& config);

  // Returns the gap in ticks. Any thread may call it.
  uint64_t ticks() const {
    return std::max(ticks_.load(platform::memory_order_relaxed),
                    least_ticks_.load(platform::memory_order_relaxed));
  }
  // Makes the gap at least `ticks`, or 200 us if that is less, until the next call: what takes a
  // thread longer most often waits for a processor.
  void at_least(uint64_t ticks) {
    least_ticks_.store(std::min(ticks, most_pace_ticks_), platform::memory_order_relaxed);
  }

  // Notes that a flush of all bytes before `goal`, which are filled, begins at `now`. A large one
  // takes several writes.
  void note_flush(uint64_t now, uint64_t goal);
  // Notes that the stream is durable up to `position` at `now`.
  void note_durable(uint64_t now, uint64_t position) {
    if (!chosen_) return;
    waiting_ -= since_window(durable_) * static_cast<double>(now - durable_since_);
    durable_ = position;
    durable_since_ = now;
  }
  // Notes that a worker has flushed for `ticks`.
  void note_help(uint64_t ticks) { helped_ticks_ += ticks; }

 private:
  void choose(uint64_t now);
  void begin_window(uint64_t now);
  // Returns how far a stream position is after the goal with which the window began.
  double since_window(uint64_t position) const {
    return static_cast<double>(static_cast<int64_t>(position - window_goal_));
  }

  const bool chosen_;  // in the run
  const double latency_ticks_;
  const uint64_t window_ticks_, most_ticks_, most_pace_ticks_;
  const std::function<uint64_t()> run_delay_ns_;
  const double workers_;
  platform::atomic<uint64_t> ticks_, least_ticks_{0};

  // Since the window began.
  uint64_t window_since_ = 0, window_goal_ = 0;
  uint64_t delay_before_ns_ = 0;
  uint64_t flushes_ = 0, helped_ticks_ = 0;
  double waiting_ = 0;  // bytes x ticks
  // The last goal and the position that is durable, and since when.
  uint64_t goal_ = 0, goal_since_ = 0, durable_ = 0, durable_since_ = 0;
};

}  // namespace logjam
