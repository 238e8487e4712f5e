// The Lamport clock of a log alone (Aether, 7.3.3).
#include "logging/schemes/aether/gsn_clock.h"

#include <gtest/gtest.h>

namespace logjam {
namespace {

TEST(GsnClockTest, ANumberIsLargerThanTheClockAndThanWhatItDependsOn) {
  GsnClock clock;
  EXPECT_GT(clock.next(0), 0u);
  EXPECT_GT(clock.next(100), 100u);
  const uint64_t last = clock.now();
  EXPECT_GT(clock.next(3), last) << "for a number that the clock has passed";
  EXPECT_GT(clock.next(clock.now()), last) << "depends on the clock's own number";
  clock.raise(1000);
  EXPECT_GT(clock.next(0), 1000u);
}

}  // namespace
}  // namespace logjam
