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

}  // namespace
}  // namespace logjam
