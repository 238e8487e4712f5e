// The floors of `tide`: for each stream a lower bound of the numbers that its workers still draw.
//
// Protocol. The thread that is about to write stream s raises s's floor, under the lock of s's
// watermarks. It also loads the other floors: an old value makes the new floor smaller, which costs
// one more write, but no safety. The rules say how the workers see the floor. All accesses are
// relaxed, so the rules also say what orders them.
#pragma once

#include <vector>

#include "logging/commit_point.h"
#include "platform/counter.h"
#include "platform/fatal.h"
#include "platform/test_value.h"

namespace logjam {

// Begins with floors of N steps (--test=tide_first_step:N).
inline const platform::TestValue tide_first_step("tide_first_step");

class Floors {
 public:
  explicit Floors(uint32_t streams) : floors_(streams) {
    const uint64_t first = tide_first_step.get() * kStep;
    for (auto& floor : floors_) floor->store(first, platform::memory_order_relaxed);
  }

  // Returns the floor of a stream. Any thread may call it.
  uint64_t of(uint32_t stream) const {
    return floors_[stream]->load(platform::memory_order_relaxed);
  }
  // Raises the floor of a stream above all floors, and returns it. Between two writes, dependencies
  // usually raise numbers by less than kStep. So a transaction is safe after the next write of each
  // stream. Ends the process after the last number.
  uint64_t raise(uint32_t stream) {
    uint64_t floor = 0;
    for (uint32_t s = 0; s < floors_.size(); ++s) floor = std::max(floor, of(s));
    floor += kStep;
    if (floor > kLastFloor) {
      platform::fatal("the log has had all its numbers; --continue begins to count again");
    }
    floors_[stream]->store(floor, platform::memory_order_relaxed);
    return floor;
  }

 private:
  static constexpr uint64_t kStep = 1 << 16;
  // Numbers exceed the largest floor by fewer than the records of the run, which are fewer than
  // 2^58 in a hundred years. So all numbers have kSequenceBits bits.
  static constexpr uint64_t kLastFloor = (uint64_t{1} << kSequenceBits) - (uint64_t{1} << 58);

  std::vector<platform::Padded<platform::atomic<uint64_t>>> floors_;
};

}  // namespace logjam
