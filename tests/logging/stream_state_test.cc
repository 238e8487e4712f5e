// Tests a stream's step without threads: the test itself takes the latch and calls the steps.
#include "logging/stream/stream_state.h"

#include <memory>
#include <string>

#include "tests/logging/log_fixture.h"

namespace logjam {
namespace {

class StreamStateTest : public testing::Test, public StreamOwner {
 protected:
  StreamStateTest() {
    config_.workers = 1;
    config_.buffer_bytes = 65536;
  }
  uint64_t filled(uint32_t) override { return filled_; }

  // Makes the state over a device, with the flush policy of config_.
  void open(const std::string& device) {
    state_.reset();
    device_ = open_device(device, {directory_.file(), 0, 1});
    config_.devices = {device_.get()};
    filled_ = 0;
    state_ = std::make_unique<StreamState>(config_, 0, *this, Writers::kDealt);
  }
  void publish(uint64_t end, bool commits = true) {
    filled_ = end;
    state_->count_publish(commits);
    state_->note_publish();
  }
  Due due() const { return state_->due(state_->look()); }
  StreamState::Step step(Flush flush = Flush::kByPolicy) {
    const platform::lock_guard hold(state_->latch());
    return state_->step(flush, true);
  }

  LogDirectory directory_;
  LogConfig config_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<StreamState> state_;
  uint64_t filled_ = 0;
};

TEST_F(StreamStateTest, APolicySaysWhyAFlushIsDue) {
  config_.flush_us = 3'600'000'000;
  config_.flush_txns = 2;
  config_.flush_bytes = 1000;
  open("null");
  publish(100);
  publish(200, false);
  EXPECT_EQ(due(), Due::kNo);
  EXPECT_TRUE(state_->worth_a_look()) << "the number of commits is not known without a look";
  publish(300);
  EXPECT_EQ(due(), Due::kByAmount) << "two commits";
  EXPECT_TRUE(step().started);
  publish(1299, false);
  EXPECT_EQ(due(), Due::kNo);
  EXPECT_FALSE(step().started);
  publish(1300, false);
  EXPECT_EQ(due(), Due::kByAmount) << "1000 bytes";
  EXPECT_TRUE(step().started);
  publish(1400);
  state_->note_wanted(false);
  EXPECT_EQ(due(), Due::kNo) << "the commit waits for its own timeout";
  state_->note_wanted(true);
  EXPECT_EQ(due(), Due::kByTime);
}

TEST_F(StreamStateTest, WithATimeoutAloneALookIsNotWorthIt) {
  config_.flush_us = 3'600'000'000;
  open("null");
  publish(100);
  EXPECT_FALSE(state_->worth_a_look());
  EXPECT_FALSE(step().started);
  EXPECT_TRUE(step(Flush::kNow).started);
  EXPECT_EQ(state_->durable(), 100u);
}

// A write that does not reach the goal leaves the goal open, so another write is due.
TEST_F(StreamStateTest, AnOpenGoalNeedsNoOtherReason) {
  config_.flush_us = 3'600'000'000;
  config_.flush_txns = 1;
  config_.io_bytes = 4096;
  open("null");
  publish(10'000);
  EXPECT_TRUE(step().started);
  EXPECT_EQ(state_->durable(), 4096u);
  EXPECT_EQ(due(), Due::kGoalOpen);
  EXPECT_TRUE(state_->worth_a_look());
  while (state_->durable() < 10'000) EXPECT_TRUE(step().started);
  EXPECT_EQ(due(), Due::kNo);
}

TEST_F(StreamStateTest, AWorkerThatReliesOnTheDaemonEndsTheGap) {
  config_.flush_gap_us = 3'600'000'000;
  open("null");
  publish(100);
  EXPECT_TRUE(step(Flush::kNow).started);
  publish(200);
  EXPECT_EQ(due(), Due::kNo) << "the gap is not over";
  state_->count_relying(true);
  EXPECT_EQ(due(), Due::kByTime);
  state_->count_relying(false);
  EXPECT_EQ(due(), Due::kNo);
  EXPECT_GT(state_->ns_until_due(), 0u);
}

}  // namespace
}  // namespace logjam
