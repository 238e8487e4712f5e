// The gap between two writes of a stream while workers are busy (--flush_gap_us), fixed or chosen
// in the run; and the pace of the writes.
//
// A short gap costs throughput: each write takes processor time from the workers, whatever its
// length. A long gap costs latency: a commit waits for half a period P on average, and then for its
// write, which takes the time d. --flush_gap_us=auto chooses P = 3 d, so that a commit is durable
// after 2.5 d, but at least 200 us, where a write of 40 us of processor time takes a fifth of a
// core, and at most 500 us, where it takes a twelfth. --flush_gap_us=auto:L chooses
// P = 2 * (L - d), so that a commit is durable after L on average. The worker may acknowledge the
// commit later.
//
// d is a mean of the last writes that no other write of the stream overlapped, each at most four
// times the mean before it. So a host or a disk that stops for milliseconds hardly counts.
//
// Protocol. ticks_ and least_ticks_ are stored under the stream's flush latch; any thread loads
// them (relaxed). The latch guards all other members.
#pragma once

#include <algorithm>
#include <cstdint>

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

  // Notes how long a write took that no other write of the stream overlapped.
  void note_write(uint64_t ticks);

 private:
  const bool chosen_;             // the gap is chosen in the run
  const uint64_t latency_ticks_;  // of auto:L; 0: without L
  const uint64_t most_pace_ticks_;
  platform::atomic<uint64_t> ticks_, least_ticks_{0};
  uint64_t write_ticks_ = 0;  // d; 0: no write has been noted
};

}  // namespace logjam
