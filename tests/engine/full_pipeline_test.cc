// When the depth of the pipeline, and not the log, sets the pace, the result says so.
#include <gtest/gtest.h>

#include "engine/run/run.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "tests/forwarding_scheme.h"
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
        {.threads = 1, .seconds = 60, .transactions = 60, .pipeline_depth = depth, .pin = false});
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
  const double full_pct = run_with_depth(4).pipeline_full_pct;
  EXPECT_GT(full_pct, 0);
  EXPECT_LE(full_pct, 100);
}

TEST_F(PipelineRun, APipelineWithRoomShowsNoWait) {
  EXPECT_EQ(run_with_depth(~uint32_t{0}).pipeline_full_pct, 0);
}

// A row tells from these whether its window was steady.
TEST_F(PipelineRun, TheResultSaysHowManyWereExecutedAndHowManyAcknowledgedInEachHalf) {
  const RunResult even =
      run_with({.threads = 1, .seconds = 0.2, .pipeline_depth = 1, .pin = false});
  EXPECT_NEAR(static_cast<double>(even.committed), static_cast<double>(even.transactions), 3);
  ASSERT_TRUE(even.first_half);
  EXPECT_GT(*even.first_half, 0u);
  EXPECT_LT(*even.first_half, even.transactions);
  const RunResult backlog =
      run_with({.threads = 1, .seconds = 0.2, .pipeline_depth = ~uint32_t{0}, .pin = false});
  EXPECT_GT(backlog.committed, 2 * backlog.transactions);
  EXPECT_FALSE(run_with_depth(4).first_half) << "that run has no second half";
}

}  // namespace
}  // namespace logjam
