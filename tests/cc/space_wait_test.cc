// The time that transactions wait for room in the log is measured in full, and not as contention.
#include "tests/cc/script.h"

namespace logjam {
namespace {

uint64_t charged(const Breakdown& breakdown, Activity activity) {
  return breakdown.sampled_ticks()[static_cast<size_t>(activity)];
}

// A sample counts kSampleEvery times, so a wait that is always timed is divided by kSampleEvery.
TEST(SpaceWaitTest, WaitsOfTransactionsThatAreNoSampleCount) {
  Breakdown breakdown(true);
  for (uint64_t i = 1; i < Breakdown::kSampleEvery; ++i) {
    breakdown.start_transaction();
    breakdown.waited_for_space(1000 * Breakdown::kSampleEvery);
  }
  EXPECT_EQ(charged(breakdown, Activity::kSpaceWait), 1000 * (Breakdown::kSampleEvery - 1));
}

TEST(SpaceWaitTest, WaitsOfASampleAreNotCountedTwice) {
  Breakdown breakdown(true);
  for (uint64_t i = 0; i < Breakdown::kSampleEvery; ++i) breakdown.start_transaction();
  const uint64_t before = platform::ticks();
  breakdown.enter(Activity::kLogContention);
  const uint64_t begin = platform::ticks();
  platform::sleep_ns(20'000'000);
  const uint64_t waited = platform::ticks() - begin;
  breakdown.waited_for_space(waited);
  breakdown.enter(Activity::kWork);
  const uint64_t all = platform::ticks() - before;
  EXPECT_EQ(charged(breakdown, Activity::kSpaceWait), waited / Breakdown::kSampleEvery);
  EXPECT_LE(charged(breakdown, Activity::kLogContention), all - waited);
}

TEST(SpaceWaitTest, ATransactionChargesWhatItsReservationHasWaited) {
  World world("occ", {.waited_ticks = 500 * Breakdown::kSampleEvery});
  world.load_tens(*world.ordered, 20);
  Breakdown breakdown(true);
  Actor actor(world);
  actor.context.breakdown = &breakdown;
  actor.set(*world.ordered, 10, 4);
  ASSERT_TRUE(actor.commit());
  EXPECT_EQ(charged(breakdown, Activity::kSpaceWait), 500);
}

}  // namespace
}  // namespace logjam
