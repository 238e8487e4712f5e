// When the depth of the pipeline, and not the log, sets the pace, the result says so.
#include <gtest/gtest.h>

#include "engine/run/run.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "tests/forwarding_scheme.h"
#include "tests/logging/watchdog.h"
#include "tests/workloads/harness.h"

namespace logjam {
namespace {

// Makes no commit durable before a worker waits for it, and then takes a millisecond.
class Laggard final : public ForwardingScheme {
 public:
  Laggard() : ForwardingScheme(1) {}

  CommitPoint publish(uint32_t worker, const LogReservation& reservation,
                      RecordRole role) override {
    ForwardingScheme::publish(worker, reservation, role);
    return CommitPoint::in_stream(0, ++published_);
  }
  CommitPoint commit_read_only(uint32_t, const Dependencies&) override {
    return CommitPoint::in_stream(0, ++published_);
  }
  bool is_durable(const CommitPoint& point) const override {
    return point.sequence <= durable_.load();
  }
  void wait_durable(uint32_t, const CommitPoint&) override {
    platform::sleep_ns(1'000'000);
    durable_.store(published_);
  }

 private:
  uint64_t published_ = 0;  // only the worker uses it
  platform::atomic<uint64_t> durable_{0};
};

class PipelineRun : public WorkloadTest {
 protected:
  RunResult run_with_depth(uint32_t depth) {
    return run_with(
        {.threads = 1, .seconds = 3600, .transactions = 60, .pipeline_depth = depth, .pin = false});
  }
  RunResult run_with(const RunOptions& options) {
    set({{"micro_update_rows", "100"}});
    const auto workload = make_workload("micro-update");
    Laggard log;
    Database database;
    load(*workload, database, 1);
    return run(*workload, database, *find_protocol("occ"), log, options);
  }
};

TEST_F(PipelineRun, AFullPipelineShowsInTheResult) {
  const RunResult result = run_with_depth(4);
  const double waited_ns = platform::ticks_to_ns(result.pipeline_wait_ticks);
  EXPECT_GT(waited_ns, 0);
  EXPECT_LE(waited_ns, result.seconds * 1e9);
}

TEST_F(PipelineRun, APipelineWithRoomShowsNoWait) {
  EXPECT_EQ(run_with_depth(~uint32_t{0}).pipeline_wait_ticks, 0u);
}

// A row tells from these whether its window was steady.
TEST_F(PipelineRun, TheResultSaysHowManyWereExecutedAndHowManyAcknowledgedInEachHalf) {
  const Watchdog watchdog("a half of a run has no transactions");
  const auto run_for = [&](double seconds, uint32_t depth) {
    return run_with({.threads = 1, .seconds = seconds, .pipeline_depth = depth, .pin = false});
  };
  // The worker may have no processor in a half of a run that is too short.
  for (double seconds = 0.1;; seconds *= 2) {
    const RunResult even = run_for(seconds, 1);
    EXPECT_NEAR(static_cast<double>(even.committed), static_cast<double>(even.transactions), 3);
    ASSERT_TRUE(even.first_half);
    EXPECT_LE(*even.first_half, even.transactions);
    if (*even.first_half > 0 && *even.first_half < even.transactions) break;
  }
  for (double seconds = 0.1;; seconds *= 2) {
    const RunResult backlog = run_for(seconds, ~uint32_t{0});
    EXPECT_GE(backlog.committed, 2 * backlog.transactions);
    if (backlog.committed > 0) break;
  }
  EXPECT_FALSE(run_with_depth(4).first_half) << "that run has no second half";
}

}  // namespace
}  // namespace logjam
