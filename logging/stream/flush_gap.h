// The gap between two writes of a stream while workers are busy (--flush_gap_us), fixed or chosen
// in the run; and the pace of the writes.
//
// A short gap costs throughput: each write takes processor time from the workers. A long gap costs
// latency: a commit waits for half a period on average, and then for its write. --flush_gap_us=auto
// chooses the period P between two writes with the largest ratio of throughput to latency, which
// Kleinrock calls power (ICC 1979). At this maximum, one per cent of throughput costs one per cent
// of latency. If a write takes the time `a` from each worker and itself lasts for `d`,
//
//   power(P) = (1 - a / P) / (P / 2 + d), with its maximum at P = a + sqrt(a * a + 2 * a * d).
//
// --flush_gap_us=auto:L chooses P = 2 * (L - d), so that a commit is durable after L on average.
// The worker may acknowledge the commit later.
//
// `d` is the mean time from the filling of a byte of the log until the byte is durable, minus half
// of P. By Little's law this mean time is the integral of the waiting bytes, divided by the arrived
// bytes. So a late or slow flush counts once for each of its commits. `a` is the workers' run delay
// (platform/cpu_use.h) plus the time in which workers flush, per worker and period. The model
// assumes equal streams: in a period, workers lose the time for one write of each stream. `a` does
// not include interrupts, or misses of cache lines that a write evicts. `a` includes the time of
// other programs on busy cores, so the period has an upper bound.
//
// Protocol. ticks_ and least_ticks_ are stored under the stream's flush latch; any thread loads
// them (relaxed). The latch guards all other members.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "logging/log_config.h"
#include "platform/assert.h"
#include "platform/atomic.h"

namespace logjam {

// The pace of a stream's writes, and the rounds in which several streams write.
//
// Pace. The time between the starts of two writes is at least `pace` times the cost of a write, and
// longer if fewer than kFewWriters workers fill the stream. The cost is the duration of the last
// call of StreamOwner::filled_to_write() or, if a worker made the write, of the whole step. The gap
// is the time between two starts, minus the device's time.
//
// Rounds. A stream's write begins a round if no round has begun since the stream's last write. Each
// other stream *joins* the round: its next write waits for only half of the stream's gap.
//
// Protocol. All streams with the same pacer store and load round_ (relaxed). A stream that loads an
// old value writes a moment later. If two rounds begin at the same time, only one remains.
class FlushPacer {
 public:
  FlushPacer(uint64_t pace, bool rounds) : pace_(pace), rounds_(rounds) {}

  // Returns whether a stream whose last write started at `started` joins the round.
  bool joins_round(uint64_t started) const { return round() > started; }
  // Notes that a stream begins a write at `now`. `started`: the start of the stream's last write.
  void note_write(uint64_t now, uint64_t started) {
    if (rounds_ && !joins_round(started)) round_.store(now, platform::memory_order_relaxed);
  }
  // Returns the least gap after a write of a stream that `writers` workers fill. `took`: the ticks
  // that a thread spent on the write; `write`: the ticks that the device spent on the write.
  uint64_t least_gap(uint64_t took, uint64_t write, uint64_t writers) const {
    const uint64_t least =
        std::max(pace_, pace_ * kFewWriters / std::max<uint64_t>(writers, 1)) * took;
    return least - std::min(least, write);
  }
  // Returns the time at which the last round began, in ticks; 0 if there was none.
  uint64_t round() const { return round_.load(platform::memory_order_relaxed); }

 private:
  static constexpr uint64_t kFewWriters = 8;

  alignas(platform::kCacheLine) platform::atomic<uint64_t> round_{0};
  const uint64_t pace_;
  const bool rounds_;
};
// Returns the period of the greatest power. `lost`: the time that a write takes from each worker;
// `write`: the duration of a write.
double period_of_most_power(double lost, double write);
// Returns the period at which commits wait for `latency` on average; 0 if `latency` < `write`.
double period_of_latency(double latency, double write);

class FlushGap {
 public:
  explicit FlushGap(const LogConfig& config);

  uint64_t ticks() const {
    return std::max(ticks_.load(platform::memory_order_relaxed),
                    least_ticks_.load(platform::memory_order_relaxed));
  }
  // Makes the gap at least min(`ticks`, 200 us) until the next call. A thread that took longer was
  // mostly waiting for a processor.
  void at_least(uint64_t ticks) {
    least_ticks_.store(std::min(ticks, most_pace_ticks_), platform::memory_order_relaxed);
  }

  // Notes that a flush of all bytes before `goal` begins at `now`. The flush is one or more writes.
  void note_flush(uint64_t now, uint64_t goal);
  void note_durable(uint64_t now, uint64_t position) {
    if (!chosen_) return;
    waiting_ -= since_window(durable_) * static_cast<double>(now - durable_since_);
    durable_ = position;
    durable_since_ = now;
  }
  void note_help(uint64_t ticks) { helped_ticks_ += ticks; }

 private:
  void choose(uint64_t now);
  void begin_window(uint64_t now);
  // Returns how far a stream position is after the goal at which the window began.
  double since_window(uint64_t position) const {
    return static_cast<double>(static_cast<int64_t>(position - window_goal_));
  }

  const bool chosen_;  // the gap is chosen in the run
  const double latency_ticks_;
  const uint64_t window_ticks_, most_ticks_, most_pace_ticks_;
  const std::function<uint64_t()> run_delay_ns_;
  const double workers_;
  platform::atomic<uint64_t> ticks_, least_ticks_{0};

  // Measurements of the window.
  uint64_t window_since_ = 0, window_goal_ = 0;
  uint64_t delay_before_ns_ = 0;
  uint64_t flushes_ = 0, helped_ticks_ = 0;
  double waiting_ = 0;  // bytes x ticks
  // The last goal, the durable position, and the times since which they hold.
  uint64_t goal_ = 0, goal_since_ = 0, durable_ = 0, durable_since_ = 0;
};

}  // namespace logjam
