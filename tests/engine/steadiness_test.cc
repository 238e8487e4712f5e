#include "engine/run/steadiness.h"

#include <gtest/gtest.h>

namespace logjam {
namespace {

Window steady() {
  return {.committed = 100'000,
          .acknowledged = 100'100,
          .with_latency = 100'100,
          .first_half = 49'000,
          .seconds = 0.003,
          .commit_p99_seconds = 0.0005};
}

TEST(Steadiness, ASteadyWindowHasNothingAgainstIt) { EXPECT_EQ(why_unsteady(steady()), ""); }

TEST(Steadiness, ABacklogThatGrowsOrShrinksIsUnsteady) {
  Window window = steady();
  window.committed = 78'000;
  EXPECT_EQ(why_unsteady(window), "78000 executed, 100100 acknowledged");
  window.committed = 106'000;
  EXPECT_EQ(why_unsteady(window), "106000 executed, 100100 acknowledged");
}

TEST(Steadiness, LatenciesOfTheWindowsLengthAreUnsteady) {
  Window window = steady();
  window.commit_p99_seconds = 0.0011;
  EXPECT_EQ(why_unsteady(window), "p99 above a third of the window");
}

TEST(Steadiness, HalvesThatDifferAreUnsteady) {
  Window window = steady();
  window.first_half = 47'000;
  EXPECT_EQ(why_unsteady(window), "47000 acknowledged in the first half, 53100 in the second");
  window.first_half.reset();
  EXPECT_EQ(why_unsteady(window), "") << "the phase ended early, and has no halves";
}

TEST(Steadiness, AWindowInWhichNothingEndsIsTheUnsteadiest) {
  EXPECT_EQ(why_unsteady({.committed = 7, .seconds = 1}),
            "no transaction was acknowledged in the window");
  EXPECT_EQ(why_unsteady({.seconds = 1}), "no transaction was acknowledged in the window");
}

TEST(Steadiness, LatencyAndThroughputOfDifferentTransactionsAreUnsteady) {
  Window window = steady();
  window.with_latency = 120'000;
  EXPECT_EQ(why_unsteady(window), "latencies of 120000 transactions, throughput of 100100");
}

TEST(Steadiness, ChanceIsNoReason) {
  const Window few{
      .committed = 30, .acknowledged = 24, .with_latency = 30, .first_half = 9, .seconds = 1};
  EXPECT_EQ(why_unsteady(few), "");
}

}  // namespace
}  // namespace logjam
