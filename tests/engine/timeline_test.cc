// The time line of a run: every event is in one interval, and a log that stalls is visible.
#include "engine/run/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "platform/clock.h"
#include "tests/forwarding_scheme.h"
#include "tests/logging/log_fixture.h"
#include "tests/scoped_flags.h"

namespace logjam {
namespace {

using Samples = std::vector<TimelineSample>;

template <class Member>
auto sum(const Samples& samples, const Member& member) {
  using Value = std::remove_cvref_t<decltype(std::invoke(member, samples[0]))>;
  return std::transform_reduce(samples.begin(), samples.end(), Value{}, std::plus<>(),
                               [&](const auto& sample) { return std::invoke(member, sample); });
}

// Small YCSB transactions, which write and often conflict.
class TimelineOfARun : public testing::Test {
 protected:
  TimelineOfARun() {
    flags_.set("ycsb_records", 20);
    flags_.set("ycsb_ratios", "read:0.5");
    flags_.set("ycsb_ops", 2);
  }

  RunResult run_on(LogScheme& scheme, RunOptions options) {
    options.on_sample = [&](const TimelineSample& sample) { samples_.push_back(sample); };
    const auto workload = find_workload("ycsb")->make();
    Database database;
    load(*workload, database, 1);
    return run(*workload, database, *find_protocol("occ"), scheme, options);
  }
  RunResult run_on(const char* device, RunOptions options) {
    LogOptions log_options = logjam::log_options(*find_scheme("poplar"), directory_, device, 4);
    Log log(log_options);
    log.start();
    return run_on(log.scheme(), options);
  }

  ScopedFlags flags_;
  LogDirectory directory_;
  Samples samples_;
};

TEST_F(TimelineOfARun, EveryEventIsInOneInterval) {
  for (const CommitPolicy commit :
       {CommitPolicy::kSync, CommitPolicy::kPipelined, CommitPolicy::kAsync}) {
    samples_.clear();
    const RunResult result = run_on("null", {.threads = 4,
                                             .seconds = 3600,
                                             .commit = commit,
                                             .transactions = 2000,
                                             .pin = false,
                                             .sample_ms = 1});
    EXPECT_EQ(sum(samples_, &TimelineSample::transactions), 8000u);
    for (const TimelineSample& sample : samples_) {
      EXPECT_EQ(sample.transactions, sample.commit.count());
    }
    EXPECT_EQ(sum(samples_, &TimelineSample::aborts), result.abort_count());
    EXPECT_EQ(sum(samples_, &TimelineSample::log_bytes), result.log_bytes);
    EXPECT_GT(sum(samples_, &TimelineSample::durable_bytes), 0u);
    EXPECT_EQ(samples_.back().lag_bytes, 0u);
    EXPECT_EQ(samples_.back().lag_ns, 0);
  }
}

TEST_F(TimelineOfARun, IntervalsFollowEachOtherAndNoneIsOfTwoPhases) {
  run_on("sim:500", {.threads = 2,
                     .warmup_seconds = 0.05,
                     .seconds = 0.05,
                     .commit = CommitPolicy::kSync,
                     .pin = false,
                     .sample_ms = 7});
  ASSERT_TRUE(std::ranges::is_sorted(samples_, {}, &TimelineSample::phase));
  for (const Phase phase : {Phase::kWarmup, Phase::kMeasure, Phase::kDrain}) {
    EXPECT_GT(std::ranges::count(samples_, phase, &TimelineSample::phase), 0);
  }
  for (size_t i = 0; i < samples_.size(); ++i) {
    const bool first_of_measure =
        samples_[i].phase == Phase::kMeasure && samples_[i - 1].phase == Phase::kWarmup;
    if (i == 0 || first_of_measure) continue;
    EXPECT_NEAR(samples_[i].time_seconds - samples_[i].seconds, samples_[i - 1].time_seconds, 1e-6);
  }
  const auto measured = std::ranges::find(samples_, Phase::kMeasure, &TimelineSample::phase);
  EXPECT_NEAR(measured->time_seconds, measured->seconds, 1e-9) << "0 is where it begins";
  const TimelineSample& first = samples_.front();
  EXPECT_NEAR(first.time_seconds - first.seconds, -0.05, 1e-9) << "the warm-up is before it";
}

// No interval ends by itself here.
TEST_F(TimelineOfARun, TheEndOfAPhaseEndsAnInterval) {
  run_on("null", {.threads = 1,
                  .warmup_seconds = 0.02,
                  .seconds = 0.02,
                  .pin = false,
                  .sample_ms = 3'600'000});
  ASSERT_EQ(samples_.size(), 3u);
  EXPECT_EQ(samples_[0].phase, Phase::kWarmup);
  EXPECT_EQ(samples_[1].phase, Phase::kMeasure);
  EXPECT_EQ(samples_[2].phase, Phase::kDrain);
}

// A log in which nothing becomes durable until the test calls release().
class Stalled final : public ForwardingScheme {
 public:
  Stalled() : ForwardingScheme(1) {}

  void release() { released_.store(true, platform::memory_order_release); }
  CommitPoint publish(uint32_t, const LogReservation&, RecordRole) override {
    return CommitPoint::in_stream(0, 1);
  }
  bool is_durable(const CommitPoint& point) const override {
    return point.sequence == 0 || released_.load(platform::memory_order_acquire);
  }
  void wait_durable(uint32_t, const CommitPoint& point) override {
    while (!is_durable(point)) platform::sleep_ns(1'000'000);
  }

 private:
  platform::atomic<bool> released_{false};
};

// The log stalls until the third sample that shows it.
TEST_F(TimelineOfARun, ALogThatStallsShows) {
  for (const CommitPolicy commit : {CommitPolicy::kSync, CommitPolicy::kPipelined}) {
    samples_.clear();
    Stalled log;
    RunOptions options = {.threads = 1,
                          .seconds = 3600,
                          .commit = commit,
                          .transactions = 50,
                          .pipeline_depth = 100,
                          .pin = false,
                          .sample_ms = 2};
    const auto workload = find_workload("ycsb")->make();
    Database database;
    load(*workload, database, 1);
    uint64_t stalled = 0;
    options.on_sample = [&](const TimelineSample& sample) {
      samples_.push_back(sample);
      if (sample.lag_ns > 0 && ++stalled == 3) log.release();
      if (samples_.size() == 2000) log.release();  // no lag was seen: the test ends, and fails
    };
    run(*workload, database, *find_protocol("occ"), log, options);
    uint64_t seen = 0;
    double age = 0;
    for (const TimelineSample& sample : samples_) {
      if (seen == 3) break;
      EXPECT_EQ(sample.transactions, 0u);
      if (sample.lag_ns == 0) continue;
      EXPECT_GT(sample.lag_ns, age) << "the same transaction, later";
      age = sample.lag_ns;
      ++seen;
    }
    EXPECT_EQ(seen, 3u);
    EXPECT_EQ(sum(samples_, &TimelineSample::transactions), 50u);
    const auto slowest = std::ranges::max_element(
        samples_, {}, [](const TimelineSample& sample) { return sample.commit.max(); });
    EXPECT_GE(platform::ticks_to_ns(slowest->commit.max()), age);
    EXPECT_EQ(samples_.back().lag_ns, 0);
  }
}

}  // namespace
}  // namespace logjam
