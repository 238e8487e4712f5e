#include "engine/run/arrivals.h"

#include <gtest/gtest.h>

#include <random>

namespace logjam {
namespace {

// Four workers offer 40,000 transactions a second, so a transaction arrives at each worker every
// 100 us.
RunOptions open_loop() {
  RunOptions options;
  options.threads = 4;
  options.rate = 40'000;
  return options;
}

TEST(Arrivals, AClosedLoopHasNone) {
  EXPECT_FALSE(Arrivals(RunOptions{}).open());
  EXPECT_TRUE(Arrivals(open_loop()).open());
}

TEST(Arrivals, AWorkerHasItsShareOfTheRateAtExponentialDistances) {
  constexpr int kArrivals = 100'000;
  Arrivals arrivals(open_loop());
  std::mt19937_64 random(1);
  arrivals.begin(1000, random());
  uint64_t last = 1000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kArrivals; ++i) {
    const double us = 1e-3 * platform::ticks_to_ns(arrivals.next() - last);
    sum += us;
    squares += us * us;
    last = arrivals.next();
    EXPECT_EQ(arrivals.take(random()), last);
  }
  EXPECT_NEAR(sum / kArrivals, 100, 1);
  EXPECT_NEAR(squares / kArrivals, 2 * 100 * 100, 600);  // as of an exponential distribution
}

TEST(Arrivals, VisitsThoseUpToTheEndAtEqualDistances) {
  Arrivals arrivals(open_loop());
  arrivals.begin(0, ~uint64_t{0});  // the shortest distance
  const uint64_t first = arrivals.next();
  const auto ignore = [](uint64_t, uint64_t) {};
  EXPECT_EQ(first == 0 ? 0u : arrivals.visit_until(first - 1, ignore), 0u);
  for (const uint64_t all : {1u, 10u, 1'000'000u}) {
    const uint64_t end = first + platform::ns_to_ticks(1e5 * (static_cast<double>(all) - 0.5));
    uint64_t visited = 0, visits = 0, last = 0;
    EXPECT_EQ(arrivals.visit_until(end,
                                   [&](uint64_t arrival, uint64_t count) {
                                     EXPECT_GE(arrival, last);
                                     EXPECT_LE(arrival, end);
                                     last = arrival;
                                     visited += count;
                                     ++visits;
                                   }),
              all);
    EXPECT_EQ(visited, all);
    EXPECT_LE(visits, 1u << 16);
    EXPECT_NEAR(static_cast<double>(last), static_cast<double>(end),
                static_cast<double>(platform::ns_to_ticks(1e5 * 20)));
  }
}

}  // namespace
}  // namespace logjam
