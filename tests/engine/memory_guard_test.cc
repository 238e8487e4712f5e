// How much memory the inserts of a run take, and how soon a run sees that memory runs out.
#include "engine/run/memory_guard.h"

#include <gtest/gtest.h>

namespace logjam {
namespace {

// A run asks the guard every 20 ms.
TEST(MemoryGuard, SeesMemoryGoAtAGigabyteASecondBeforeItIsGone) {
  constexpr uint64_t kLeast = uint64_t{256} << 20, kStepNs = 20'000'000;
  for (uint64_t had = uint64_t{1} << 30; had < uint64_t{1100} << 20; had += 7'654'321) {
    uint64_t now = 1, left = had;
    MemoryGuard guard(kLeast, [&left] { return left; });
    while (!guard.hardly_any_left(now)) {
      ASSERT_GT(left, kLeast * 3 / 4);
      now += kStepNs;
      left -= kStepNs;  // a byte a nanosecond
    }
    EXPECT_LT(left, kLeast);
  }
}

TEST(ExpectedGrowth, NoMoreTransactionsInsertThanAreCountedOrOffered) {
  RunOptions options;
  options.threads = 2;
  options.warmup_seconds = 1;
  options.seconds = 3;
  EXPECT_EQ(expected_growth(1e8, options), 4e8);
  options.rate = 1000;
  EXPECT_EQ(expected_growth(1e8, options), 4 * 1000 / 2 * 4096.0);
  options.transactions = 100;
  EXPECT_EQ(expected_growth(1e8, options), 100 * 4096.0);
  options.transactions = 0;
  options.rate = 1e9;
  EXPECT_EQ(expected_growth(1e8, options), 4e8);
}

}  // namespace
}  // namespace logjam
