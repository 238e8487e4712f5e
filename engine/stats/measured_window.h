// The measured time of a run, and how much of a wait lies in it.
//
// Protocol. The main thread stores the begin, and later the end, relaxed, each before it stores the
// next phase (release). A worker that has loaded that phase (acquire) sees them. A worker that has
// not may miss a recent store, and then counts some nanoseconds too few or too many.
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
  void end(uint64_t now) {
    LJ_ASSERT(ended() == kNever);
    end_.store(now, platform::memory_order_relaxed);
  }

  bool has_begun() const { return begun() != kNever; }
  // Returns the time at which the window began (or ended), or kNever.
  uint64_t begun() const { return begin_.load(platform::memory_order_relaxed); }
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
