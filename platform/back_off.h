// Waiting with ever longer gaps between two looks at what is waited for.
//
// Each look of each waiter takes the cache line away from the thread that is waited for, and that
// thread needs the line to end the wait. With many waiters the looks alone keep the line busy
// (Anderson, TPDS 1990). One thread uses an object for one wait.
#pragma once

#include <algorithm>
#include <cstdint>

#include "platform/spin.h"

namespace logjam::platform {

class BackOff {
 public:
  // Waits before the next look.
  void once() {
    for (uint32_t i = 0; i < gap_; ++i) wait_.once();
    gap_ = std::min(2 * gap_, kLongestGap);
  }
  // Returns how many rounds of SpinWait it has waited.
  uint32_t rounds() const { return wait_.rounds(); }
  bool waits_longest() const { return gap_ == kLongestGap; }

 private:
  static constexpr uint32_t kLongestGap = 32;

  SpinWait wait_;
  uint32_t gap_ = 1;
};

}  // namespace logjam::platform
