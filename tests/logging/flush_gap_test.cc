// The gap that a run chooses by the time that its writes take.
#include "logging/stream/flush_gap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "platform/clock.h"

namespace logjam {
namespace {

TEST(FlushGapTest, IsAtLeastWhatAPaceAsksForAndAtMost200Microseconds) {
  LogConfig config;
  config.flush_gap_us = 50;
  FlushGap gap(config);
  const auto us = [&] { return std::lround(platform::ticks_to_ns(gap.ticks()) / 1e3); };
  const auto at_least = [&](double wanted_us) {
    gap.at_least(platform::ns_to_ticks(wanted_us * 1e3));
    return us();
  };
  EXPECT_EQ(us(), 50);
  EXPECT_EQ(at_least(80), 80);
  EXPECT_EQ(at_least(20), 50) << "the given gap is longer";
  EXPECT_EQ(at_least(160'000), 200) << "a thread that took so long had lost its processor";
}

// A gap, and writes that it learns of.
class GapOfWrites {
 public:
  explicit GapOfWrites(const LogConfig& config) : gap_(config) {}

  void write(double us, uint32_t times = 1) {
    for (uint32_t i = 0; i < times; ++i) gap_.note_write(platform::ns_to_ticks(us * 1e3));
  }
  double us() const { return platform::ticks_to_ns(gap_.ticks()) / 1e3; }

 private:
  FlushGap gap_;
};

constexpr double kNear = 2;  // microseconds
constexpr uint32_t kMany = 200;
const LogConfig kAuto = {.chooses_gap = true};

TEST(FlushGapTest, AFixedGapStaysAsItIs) {
  GapOfWrites gap({.flush_gap_us = 70});
  gap.write(200, kMany);
  EXPECT_NEAR(gap.us(), 70, 0.1);
}

TEST(FlushGapTest, OfThreeWritesFollowsTheWrites) {
  GapOfWrites gap(kAuto);
  EXPECT_NEAR(gap.us(), 200, 0.1) << "before the first write";
  gap.write(120);
  EXPECT_NEAR(gap.us(), 360, kNear) << "the first write counts whole";
  gap.write(90, kMany);
  EXPECT_NEAR(gap.us(), 270, kNear);
}

TEST(FlushGapTest, OfThreeWritesHasTwoBounds) {
  GapOfWrites gap(kAuto);
  gap.write(5, kMany);
  EXPECT_NEAR(gap.us(), 200, 0.1);
  gap.write(3000, kMany);
  EXPECT_NEAR(gap.us(), 500, 0.1);
}

TEST(FlushGapTest, AWriteThatTheHostStoppedHardlyCounts) {
  GapOfWrites gap(kAuto);
  gap.write(100, kMany);
  gap.write(30'000);
  EXPECT_NEAR(gap.us(), 3 * (100 + 300 / 16.0), kNear);
  gap.write(100, kMany);
  EXPECT_NEAR(gap.us(), 300, kNear);
}

TEST(FlushGapTest, OfALatencyIsTwiceWhatTheWriteLeavesOfIt) {
  GapOfWrites gap({.chooses_gap = true, .gap_latency_us = 700});
  gap.write(200, kMany);
  EXPECT_NEAR(gap.us(), 1000, kNear);
  gap.write(750, kMany);
  EXPECT_EQ(gap.us(), 0) << "the write alone takes longer";
  GapOfWrites slow({.chooses_gap = true, .gap_latency_us = 70'000});
  slow.write(200, kMany);
  EXPECT_NEAR(slow.us(), 2000, 0.1);
}

}  // namespace
}  // namespace logjam
