#include "platform/clock.h"

#include <gtest/gtest.h>

#include <vector>

namespace logjam::platform {
namespace {

// If a thread loses its core between its readings of the two clocks, the ratio is too large or too
// small.
TEST(Clock, IntervalsThatWereDisturbedDoNotCount) {
  const ClockInterval good{5'000'000, 10'000'000}, late{9'000'000, 10'000'000},
      early{5'000'000, 14'000'000};
  for (const auto& intervals :
       std::vector<std::vector<ClockInterval>>{{good, good, good, good, good},
                                               {late, good, good, late, good},
                                               {early, good, early, good, good},
                                               {late, early, good, good, good}}) {
    EXPECT_DOUBLE_EQ(median_ns_per_tick(intervals), 0.5);
  }
}

}  // namespace
}  // namespace logjam::platform
