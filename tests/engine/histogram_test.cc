#include "engine/stats/histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace logjam {
namespace {

TEST(Histogram, RelativeErrorIsAtMostOnePercent) {
  for (int bits = 0; bits < 63; ++bits) {
    for (uint64_t offset : {uint64_t{0}, uint64_t{1}, (uint64_t{1} << bits) / 3}) {
      const uint64_t value = (uint64_t{1} << bits) + offset;
      Histogram histogram;
      histogram.record(value);
      histogram.record(~uint64_t{0});  // the maximum is exact, and `value` must not be the maximum
      HistogramSum sum;
      sum.add(histogram);
      const auto found = static_cast<double>(sum.percentile(0.5));
      EXPECT_NEAR(found, static_cast<double>(value), static_cast<double>(value) * 0.01) << value;
    }
  }
}

TEST(Histogram, PercentilesMatchASortedList) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> durations(10, 2);
  Histogram halves[2];
  std::vector<uint64_t> all;
  for (int i = 0; i < 20'000; ++i) {
    all.push_back(static_cast<uint64_t>(durations(random)));
    halves[i % 2].record(all.back());
  }
  std::sort(all.begin(), all.end());
  HistogramSum sum;
  sum.add(halves[0]);
  sum.add(halves[1]);
  EXPECT_EQ(sum.count(), all.size());
  EXPECT_EQ(sum.max(), all.back());
  for (double fraction : {0.01, 0.5, 0.95, 0.99, 0.999, 1.0}) {
    const auto exact = static_cast<double>(
        all[static_cast<size_t>(std::ceil(fraction * static_cast<double>(all.size()))) - 1]);
    EXPECT_NEAR(static_cast<double>(sum.percentile(fraction)), exact, exact * 0.01 + 1) << fraction;
  }
}

TEST(Histogram, SinceGivesTheValuesRecordedInBetween) {
  Histogram histogram;
  for (int i = 0; i < 100; ++i) histogram.record(10);
  HistogramSum before;
  before.add(histogram);
  for (int i = 0; i < 10; ++i) histogram.record(5000);
  HistogramSum after;
  after.add(histogram);
  const HistogramSum between = after.since(before);
  EXPECT_EQ(between.count(), 10u);
  EXPECT_NEAR(static_cast<double>(between.percentile(0.5)), 5000, 50);
  EXPECT_EQ(HistogramSum().percentile(0.99), 0u);
}

}  // namespace
}  // namespace logjam
