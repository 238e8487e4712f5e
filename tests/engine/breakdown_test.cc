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

TEST(MeasuredWindow, OfAWaitOnlyThePartInTheWindowCounts) {
  MeasuredWindow window;
  EXPECT_EQ(window.part(0, 1000), 0u) << "nothing is measured yet";
  window.begin(100);
  EXPECT_EQ(window.part(40, 90), 0u);
  EXPECT_EQ(window.part(40, 130), 30u);
  EXPECT_EQ(window.part(150, 170), 20u);
  window.end(200);
  EXPECT_EQ(window.part(40, 1000), 100u);
  EXPECT_EQ(window.part(190, 1000), 10u);
  EXPECT_EQ(window.part(201, 1000), 0u);
}

// The sample begins before the window, and goes on after it.
TEST(BreakdownTest, OfASampleOnlyThePartInTheWindowCounts) {
  const auto later = [](uint64_t than) {
    while (platform::ticks() <= than) {
    }
    return platform::ticks();
  };
  MeasuredWindow window;
  Breakdown breakdown(true, Breakdown::kSampleEvery - 1, &window);
  breakdown.start_transaction();
  breakdown.enter(Activity::kFlushWait);
  const uint64_t begin = later(platform::ticks());
  window.begin(begin);
  const uint64_t end = later(begin);
  window.end(end);
  later(end);
  breakdown.enter(Activity::kWork);
  breakdown.stop();
  for (size_t i = 0; i < breakdown.sampled_ticks().size(); ++i) {
    const bool waited = i == static_cast<size_t>(Activity::kFlushWait);
    EXPECT_EQ(breakdown.sampled_ticks()[i], waited ? end - begin : 0) << i;
  }
}

}  // namespace
}  // namespace logjam
