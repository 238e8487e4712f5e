// What is NV-Logging's and NVM-D's own: numbers, who holds up whom, the cut. Interleavings as
// scripts on one thread, without flushers: flush() is called by hand.
#include "tests/logging/scripted_log.h"

namespace logjam {
namespace {

constexpr uint32_t kWorkers = 3;
constexpr uint32_t kMarks = kWorkers;  // the stream of marks
constexpr Dependencies kReads{.max_read = 0, .max_overwritten = 0, .reads = true};

class PrivateLogsTest : public ScriptedLog {
 protected:
  void open(const std::string& name, const std::string& device) {
    options_ = log_options(*find_scheme(name), directory_, device, kWorkers);
    ScriptedLog::open();
  }
};

TEST_F(PrivateLogsTest, NvlogAcknowledgesInTheOrderOfAllNumbers) {
  open("nvlog", "sync");
  const Published first = publish(0, {});
  const Published second = publish(1, {});
  const Published third = publish(0, {});
  EXPECT_EQ(first.sequence, 1u);
  EXPECT_EQ(second.sequence, 2u);
  EXPECT_EQ(third.sequence, 3u);
  flush(kMarks);
  flush(0);
  flush(kMarks);
  EXPECT_FALSE(durable(third.point)) << "the number before it is in another log";
  EXPECT_EQ(cut().sequence, 0u);
  flush(1);
  EXPECT_FALSE(durable(second.point)) << "nothing on the device says that it may be used";
  flush(kMarks);
  EXPECT_TRUE(durable(first.point) && durable(second.point) && durable(third.point));
  EXPECT_EQ(cut().sequence, 3u);
}

TEST_F(PrivateLogsTest, NvmdNumbersFollowEveryDependencyAndTheWorker) {
  open("nvmd", "sync");
  for (int i = 0; i < 5; ++i) publish(0, {});
  EXPECT_EQ(publish(1, {}).sequence, 1u);
  EXPECT_EQ(publish(1, {.max_read = 5, .reads = true}).sequence, 6u);
  EXPECT_EQ(publish(1, {.max_overwritten = 4}).sequence, 7u);
  EXPECT_EQ(publish(2, {.max_war = 7}).sequence, 8u);
}

TEST_F(PrivateLogsTest, NvmdWaitsForSmallerNumbersOfAllWorkersAndForTheMark) {
  open("nvmd", "sync");
  const Published other = publish(1, {});
  const Published reader = publish(0, {.max_read = other.sequence, .reads = true});
  flush(0);
  flush(kMarks);
  EXPECT_FALSE(durable(reader.point)) << "what it has read is in no log yet";
  EXPECT_EQ(cut().sequence, 0u);
  flush(1);
  EXPECT_FALSE(durable(reader.point)) << "nothing on the device says that it may be used";
  flush(kMarks);
  EXPECT_TRUE(durable(reader.point) && durable(other.point));
  EXPECT_EQ(cut().sequence, reader.sequence);
}

// Idle workers write nothing, and what they draw later is larger.
TEST_F(PrivateLogsTest, NvmdIdleWorkersAreLiftedAboveTheMark) {
  open("nvmd", "nvm");
  Published last{};
  for (int i = 0; i < 10; ++i) last = publish(0, kReads);
  flush(0);
  flush(kMarks);
  EXPECT_TRUE(durable(last.point));
  EXPECT_EQ(cut().sequence, last.sequence);
  EXPECT_EQ(scheme().counters().value("marks"), 1);
  EXPECT_EQ(publish(1, {}).sequence, last.sequence + 1);
}

TEST_F(PrivateLogsTest, NvmdATicketThatIsOpenHoldsUpLargerNumbersOnly) {
  open("nvmd", "nvm");
  const Published small = publish(0, {});
  const Ticket hole = scheme().reserve(1, {.max_read = 1, .reads = true}, 64);
  const Published large = publish(0, {.max_read = hole.sequence, .reads = true});
  flush(0);
  flush(kMarks);
  EXPECT_TRUE(durable(small.point));
  EXPECT_FALSE(durable(large.point));
  EXPECT_EQ(cut().sequence, hole.sequence - 1);
  fill(1, hole);
  flush(1);
  flush(kMarks);
  EXPECT_TRUE(durable(large.point));
}

}  // namespace
}  // namespace logjam
