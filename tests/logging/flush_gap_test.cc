// The gap that a run chooses: the formula, and the choice from a stream's measurements.
#include "logging/stream/flush_gap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <utility>

#include "platform/clock.h"

namespace logjam {
namespace {

TEST(FlushGapTest, NoOtherPeriodHasMorePower) {
  for (const double lost : {1.0, 30.0, 85.0, 400.0}) {
    for (const double write : {0.0, 20.0, 200.0, 5000.0}) {
      const auto power = [&](double period) { return (1 - lost / period) / (period / 2 + write); };
      const double best = period_of_most_power(lost, write);
      EXPECT_GT(best, lost);
      for (const double other : {0.5, 0.9, 0.99, 1.01, 1.1, 2.0}) {
        EXPECT_GE(power(best), power(best * other)) << lost << " " << write << " " << other;
      }
    }
  }
  EXPECT_EQ(period_of_most_power(0, 200), 0) << "a write costs nothing";
}

TEST(FlushGapTest, ACommitWaitsForHalfAPeriodAndItsWrite) {
  EXPECT_EQ(period_of_latency(1000, 200), 1600);
  EXPECT_EQ(period_of_latency(200, 200), 0);
  EXPECT_EQ(period_of_latency(100, 200), 0);
}

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

// Simulates writes at intervals of `period_us`. Each write takes `write_us`, and takes `lost_us` of
// processor time from each of two workers.
class PlayedWrites {
 public:
  explicit PlayedWrites(LogConfig config) : config_(std::move(config)), gap_(complete(config_)) {}

  void play(uint32_t writes, double period_us, double write_us, double lost_us,
            uint64_t bytes = 1000) {
    for (uint32_t i = 0; i < writes; ++i) {
      gap_.note_flush(now_, end_ += bytes);
      under_way_.emplace_back(now_ + ticks(write_us), end_);
      delay_ns_ += static_cast<uint64_t>(2 * lost_us * 1e3);
      now_ += ticks(period_us);
      for (; !under_way_.empty() && under_way_.front().first < now_; under_way_.pop_front()) {
        gap_.note_durable(under_way_.front().first, under_way_.front().second);
      }
    }
  }
  // Notes a write that a worker starts, which takes `us` of the worker's time.
  void help(double us) { gap_.note_help(ticks(us)); }
  double gap_us() const { return platform::ticks_to_ns(gap_.ticks()) / 1e3; }
  static uint64_t ticks(double us) { return platform::ns_to_ticks(us * 1e3); }

 private:
  LogConfig& complete(LogConfig& config) {
    config.workers = 2;
    config.run_delay_ns = [this] { return delay_ns_; };
    return config;
  }

  uint64_t delay_ns_ = 5'000'000'000;
  LogConfig config_;
  FlushGap gap_;
  uint64_t now_ = ticks(1e6), end_ = 0;
  std::deque<std::pair<uint64_t, uint64_t>> under_way_;  // each flush's end time and goal
};

constexpr double kNear = 2;  // microseconds

TEST(FlushGapTest, AFixedGapStaysAsItIs) {
  PlayedWrites writes({.flush_gap_us = 70});
  writes.play(10'000, 300, 200, 85);
  EXPECT_NEAR(writes.gap_us(), 70, 0.1);
}

TEST(FlushGapTest, GoesToThePeriodOfMostPower) {
  PlayedWrites writes({.flush_gap_us = 200, .chooses_gap = true});
  writes.play(10'000, 300, 200, 85);
  EXPECT_NEAR(writes.gap_us(), period_of_most_power(85, 200), kNear);
  writes.play(10'000, 300, 200, 20);
  EXPECT_NEAR(writes.gap_us(), period_of_most_power(20, 200), kNear) << "writes cost less now";
}

TEST(FlushGapTest, GoesToThePeriodOfItsLatency) {
  PlayedWrites writes({.flush_gap_us = 200, .chooses_gap = true, .gap_latency_us = 700});
  writes.play(10'000, 300, 200, 85);
  EXPECT_NEAR(writes.gap_us(), 1000, kNear);
  writes.play(10'000, 300, 800, 85);
  EXPECT_NEAR(writes.gap_us(), 0, kNear) << "the write alone takes longer";
}

// Flushes of 20 and of 90 us take turns. Before a flush of 20 us, 1000 bytes arrive in 100 us.
// Before a flush of 90 us, 3000 bytes arrive in 300 us, so its commits must count three times as
// often.
TEST(FlushGapTest, CommitsOfALateAndSlowFlushCountAsOftenAsThereAreOfThem) {
  PlayedWrites writes({.flush_gap_us = 200, .chooses_gap = true, .gap_latency_us = 700});
  for (int i = 0; i < 5000; ++i) {
    writes.play(1, 300, 20, 0, 1000);
    writes.play(1, 100, 90, 0, 3000);
  }
  constexpr double kWait = (1000 * (50 + 20) + 3000 * (150 + 90)) / 4000.0;
  EXPECT_NEAR(writes.gap_us(), 2 * (700 - (kWait - 100)), kNear);
}

TEST(FlushGapTest, CountsTheTimeInWhichWorkersFlush) {
  PlayedWrites writes({.flush_gap_us = 200, .chooses_gap = true});
  for (int i = 0; i < 10'000; ++i) {
    writes.help(60);
    writes.play(1, 300, 200, 0);
  }
  EXPECT_NEAR(writes.gap_us(), period_of_most_power(30, 200), kNear);
}

TEST(FlushGapTest, HasABoundIfOtherProgramsTakeTheCores) {
  PlayedWrites writes({.flush_gap_us = 200, .chooses_gap = true});
  for (int i = 0; i < 1000; ++i) writes.play(20, writes.gap_us(), 200, 0.8 * writes.gap_us());
  EXPECT_NEAR(writes.gap_us(), 2000, kNear);
}

TEST(FlushGapTest, FewWritesChooseNothing) {
  PlayedWrites writes({.flush_gap_us = 200, .chooses_gap = true});
  writes.play(15, 5000, 200, 85);
  EXPECT_NEAR(writes.gap_us(), 200, 0.1);
}

}  // namespace
}  // namespace logjam
