#include "engine/stats/breakdown.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace logjam {
namespace {

TEST(BreakdownTest, ManyWorkersOfOneTransactionEachAreSampled) {
  uint64_t sampled = 0;
  for (uint64_t worker = 0; worker < 3 * Breakdown::kSampleEvery; ++worker) {
    Breakdown breakdown(true, worker);
    breakdown.start_transaction();
    const uint64_t begin = platform::ticks();
    while (platform::ticks() == begin) {
    }
    breakdown.start_transaction();
    sampled += std::ranges::any_of(breakdown.sampled_ticks(), [](uint64_t t) { return t != 0; });
  }
  EXPECT_EQ(sampled, 3U);
}

}  // namespace
}  // namespace logjam
