// The measured time of a run, from which the part of a wait follows that began in the warm-up or
// that ends after the measured time.
//
// Protocol. The main thread stores the begin, and later the end, relaxed, each before it stores the
// next phase with release. A worker that has read that phase with acquire sees them. A worker that
// has not read it may miss a recent store, and then counts some nanoseconds too few at the begin,
// or too many at the end.
#pragma once

#include <algorithm>
#include <cstdint>

#include "platform/assert.h"
#include "platform/atomic.h"

namespace logjam {

class MeasuredWindow {
 public:
  // Begins the window at `now`, in ticks.
  void begin(uint64_t now) {
    LJ_ASSERT(!has_begun());
    begin_.store(now, platform::memory_order_relaxed);
  }
  // Ends the window.
  void end(uint64_t now) {
    LJ_ASSERT(ended() == kNever);
    end_.store(now, platform::memory_order_relaxed);
  }

  bool has_begun() const { return begun() != kNever; }
  // Returns the time at which the window began, or kNever.
  uint64_t begun() const { return begin_.load(platform::memory_order_relaxed); }
  // Returns the time at which the window ended, or kNever.
  uint64_t ended() const { return end_.load(platform::memory_order_relaxed); }
  // Returns how many of the ticks between `from` and `to` are measured time.
  uint64_t part(uint64_t from, uint64_t to) const {
    const uint64_t first = std::max(from, begun()), last = std::min(to, ended());
    return last > first ? last - first : 0;
  }

 private:
  static constexpr uint64_t kNever = UINT64_MAX;

  platform::atomic<uint64_t> begin_{kNever}, end_{kNever};
};

}  // namespace logjam
