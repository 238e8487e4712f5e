#include "engine/run/commit_pipeline.h"

#include <gtest/gtest.h>

#include <vector>

namespace logjam {
namespace {

struct Commit {
  CommitPoint point;
  uint64_t start = 0;
};

// A log in which each queue has its own number, up to which its commit points are durable.
struct TwoQueues {
  bool is_durable(const CommitPoint& point) const { return point.sequence <= durable[point.queue]; }
  void wait_durable(uint32_t worker, const CommitPoint& point) {
    EXPECT_EQ(worker, 5u);
    durable[point.queue] = point.sequence;
  }
  uint64_t durable[CommitPoint::kQueues] = {};
};

class CommitPipelineTest : public testing::Test {
 protected:
  void push(uint64_t sequence, uint8_t queue) {
    pipeline_.push({CommitPoint::in_stream(0, sequence, queue), 100 + sequence});
  }
  // Returns the sequence numbers of the commits that are durable now.
  std::vector<uint64_t> acknowledged() {
    std::vector<uint64_t> sequences;
    const bool any = pipeline_.acknowledge_durable(
        [&](const Commit& commit) { sequences.push_back(commit.point.sequence); });
    EXPECT_EQ(any, !sequences.empty());
    return sequences;
  }

  TwoQueues log_;
  CommitPipeline<TwoQueues, Commit> pipeline_{log_, 5, 2};
};

using Sequences = std::vector<uint64_t>;

TEST_F(CommitPipelineTest, AcknowledgesEachQueueInOrderUpToTheFirstThatIsNotDurable) {
  for (const uint64_t sequence : {1, 4, 6}) push(sequence, 0);
  push(2, 1);
  EXPECT_EQ(acknowledged(), Sequences{});
  log_.durable[1] = 2;
  EXPECT_EQ(acknowledged(), Sequences{2});
  log_.durable[0] = 5;
  EXPECT_EQ(acknowledged(), (Sequences{1, 4}));
  EXPECT_FALSE(pipeline_.empty());
  log_.durable[0] = 6;
  EXPECT_EQ(acknowledged(), Sequences{6});
  EXPECT_TRUE(pipeline_.empty());
}

TEST_F(CommitPipelineTest, IsTooFullAboveItsDepthAndThenWaitsForTheLongestQueue) {
  push(1, 0);
  push(2, 1);
  EXPECT_FALSE(pipeline_.too_full());
  push(3, 1);
  EXPECT_TRUE(pipeline_.too_full());
  EXPECT_EQ(pipeline_.next().sequence, 2u);
  pipeline_.wait();
  EXPECT_EQ(acknowledged(), Sequences{2});
  EXPECT_FALSE(pipeline_.too_full());
}

TEST_F(CommitPipelineTest, KnowsTheOldestStart) {
  EXPECT_EQ(pipeline_.oldest_start(), 0u);
  push(7, 0);
  EXPECT_EQ(pipeline_.oldest_start(), 107u);
  push(3, 1);
  EXPECT_EQ(pipeline_.oldest_start(), 103u);
  log_.durable[1] = 3;
  acknowledged();
  EXPECT_EQ(pipeline_.oldest_start(), 107u);
}

}  // namespace
}  // namespace logjam
