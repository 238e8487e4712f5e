// The pace of a stream's writes, and the rounds in which several streams write (`tide`).
//
// Pace. The time from one write to the next is at least `pace` times as long as the last call of
// StreamOwner::filled_to_write() took, or, if a worker made the write, as the write took the
// worker. The gap (flush_gap.h) is the part of that time that the device does not take.
//
// Rounds. When a stream begins a write, and no round has begun since its last write, it begins a
// round. A stream that has not written since the round began *joins* the round: half of its gap is
// enough.
//
// Protocol. All streams with the same pacer store and load round_ (relaxed). A stream that loads an
// old value writes a moment later. If two streams begin a round at the same time, the later store
// stays.
#pragma once

#include <algorithm>
#include <cstdint>

#include "platform/assert.h"
#include "platform/atomic.h"

namespace logjam {

class FlushPacer {
 public:
  explicit FlushPacer(uint64_t pace) : pace_(pace) { LJ_ASSERT(pace > 0); }

  // Returns whether a stream whose last write started at `started` joins the round.
  bool joins_round(uint64_t started) const {
    return round_.load(platform::memory_order_relaxed) > started;
  }
  // Notes that a stream begins a write at `now`, and started its last one at `started`.
  void note_write(uint64_t now, uint64_t started) {
    if (!joins_round(started)) round_.store(now, platform::memory_order_relaxed);
  }
  // Returns the least gap before the next write, if a write has taken its thread `took`, and the
  // device `write`. All are ticks.
  uint64_t least_gap(uint64_t took, uint64_t write) const {
    const uint64_t least = pace_ * took;
    return least - std::min(least, write);
  }
  // Returns the time at which the last round began, in ticks; 0 if there was none.
  uint64_t round() const { return round_.load(platform::memory_order_relaxed); }

 private:
  alignas(platform::kCacheLine) platform::atomic<uint64_t> round_{0};
  const uint64_t pace_;
};

}  // namespace logjam
