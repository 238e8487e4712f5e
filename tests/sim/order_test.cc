#include "sim/explore/order.h"

#include <gtest/gtest.h>

#include <vector>

namespace logjam::sim {
namespace {

// With PCT, a fiber that can run again after a wait continues, even if other fibers can run, too.
TEST(Order, PctChangesThePrioritiesAtAFewStepsOnly) {
  constexpr uint64_t kSteps = 15'000, kMostChanges = 6;
  const std::vector<uint32_t> enabled = {0, 1, 2};
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    platform::SplitMix64 random(seed);
    const auto order = make_order("pct", random);
    uint32_t current = 0;
    uint64_t changes = 0;
    for (uint64_t step = 0; step < kSteps; ++step) {  // each turn ends early
      const uint32_t next = enabled[order->choose(enabled, current, step)];
      changes += step > 0 && next != current ? 1 : 0;
      current = next;
      EXPECT_GT(order->turn_end(current, step), step);
    }
    EXPECT_LE(changes, kMostChanges) << order->name();
  }
}

TEST(Order, TurnsGoToTheNextFiberThatCanGoOn) {
  platform::SplitMix64 random(1);
  const auto order = make_order("turns", random);
  const std::vector<uint32_t> enabled = {1, 4};
  EXPECT_EQ(order->choose(enabled, 0, 0), 0u);
  EXPECT_EQ(order->choose(enabled, 1, 0), 1u);
  EXPECT_EQ(order->choose(enabled, 4, 0), 0u);
  EXPECT_EQ(make_order("sideways", random), nullptr);
}

}  // namespace
}  // namespace logjam::sim
