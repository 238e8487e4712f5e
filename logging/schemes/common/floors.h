// The floors of `tide` and `rfa`: for each stream a lower bound of the numbers that its workers
// still draw.
//
// Protocol. The thread that is about to write stream s raises s's floor, under the lock of s's
// watermarks. It also loads the other floors: an old value makes the new floor smaller, which costs
// one more write, but no safety. The users say how the workers see the floor. All accesses are
// relaxed, so the users also say what orders them.
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
  // Makes the floors. Between two writes, dependencies usually raise numbers by less than `step`.
  // So a transaction is safe after the next write of each stream.
  explicit Floors(uint32_t streams, uint64_t step = 1 << 16) : step_(step), floors_(streams) {
    const uint64_t first = tide_first_step.get() * step;
    for (auto& floor : floors_) floor->store(first, platform::memory_order_relaxed);
  }

  // Returns the floor of a stream. Any thread may call it.
  uint64_t of(uint32_t stream) const {
    return floors_[stream]->load(platform::memory_order_relaxed);
  }
  // Raises the floor of a stream above all floors, and returns it. Ends the process after the last
  // number.
  uint64_t raise(uint32_t stream) {
    uint64_t floor = 0;
    for (uint32_t s = 0; s < floors_.size(); ++s) floor = std::max(floor, of(s));
    floor += step_;
    if (floor > kLastFloor) {
      platform::fatal("the log has had all its numbers; --continue begins to count again");
    }
    floors_[stream]->store(floor, platform::memory_order_relaxed);
    return floor;
  }

 private:
  // Numbers exceed the largest floor by at most the records of the run, which are fewer than 2^58
  // in a hundred years. So all numbers have kSequenceBits bits. In `rfa` each record counts 2^10
  // times: if no write raised a floor, 10^8 records in a second would come to 2^58 in a month.
  static constexpr uint64_t kLastFloor = (uint64_t{1} << kSequenceBits) - (uint64_t{1} << 58);

  const uint64_t step_;
  std::vector<platform::Padded<platform::atomic<uint64_t>>> floors_;
};

}  // namespace logjam
