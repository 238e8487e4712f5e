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
// --flush_gap_us=auto:L spends a given latency instead: P = 2 * (L - d), so that a commit waits for
// L on average.
//
// `d` is the time from the start of a flush to the moment when the stream is durable up to its
// goal.
// `a` is the workers' run delay (platform/run_delay.h) and the time in which they flush themselves,
// for each worker and each period. All streams of a scheme are alike: if there are several, the
// workers lose what all of them write in a period. Not measured: the time that interrupts take, and
// what a write evicts from the workers' caches. Where other programs keep the cores busy, `a`
// includes them, so the period has a bound.
//
// Protocol. The stream calls all functions but ticks() under its flush latch. ticks_ is stored
// there; any thread loads it, and needs nothing that was stored before.
#pragma once

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
  uint64_t ticks() const { return ticks_.load(platform::memory_order_relaxed); }

  // Notes that a flush of all bytes before `goal` begins at `now`. A large one takes several
  // writes.
  void flushes(uint64_t now, uint64_t goal) {
    if (!chosen_) return;
    ++flushes_;
    if (watched_end_ == 0) {
      watched_end_ = goal;
      watched_since_ = now;
    }
    if (now - window_since_ >= window_ticks_) choose(now);
  }
  // Notes that the stream is durable up to `position` at `now`.
  void durable(uint64_t now, uint64_t position) {
    if (watched_end_ == 0 || position < watched_end_) return;
    write_ticks_ += now - watched_since_;
    ++watched_;
    watched_end_ = 0;
  }
  // Notes that a worker has flushed for `ticks`.
  void helped(uint64_t ticks) { helped_ticks_ += ticks; }

 private:
  void choose(uint64_t now);
  void begin_window(uint64_t now);

  const bool chosen_;  // in the run
  const double latency_ticks_;
  const uint64_t window_ticks_, most_ticks_;
  const std::function<uint64_t()> run_delay_ns_;
  const double workers_;
  platform::atomic<uint64_t> ticks_;

  // Since the window began.
  uint64_t window_since_ = 0;
  uint64_t delay_before_ns_ = 0;
  uint64_t flushes_ = 0, watched_ = 0, write_ticks_ = 0, helped_ticks_ = 0;
  // The flush that is watched: one at a time.
  uint64_t watched_end_ = 0, watched_since_ = 0;
};

}  // namespace logjam
