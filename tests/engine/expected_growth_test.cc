#include "engine/run/memory_guard.h"

#include <gtest/gtest.h>

namespace logjam {
namespace {

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
