// Poplar: sequence numbers, the two commit queues, and the cut.
#include "tests/logging/scripted_log.h"

namespace logjam {
namespace {

constexpr Dependencies kReads{.max_read = 0, .max_overwritten = 0, .reads = true};

class PoplarTest : public ScriptedLog {
 protected:
  PoplarTest() {
    options_ = log_options_of_many(*find_scheme("poplar"), directory_, "sync", 4, 2);
    open();
  }
};

// Tests Figure 3 of the paper, with LA.ssn = 5 and LB.ssn = 6.
TEST_F(PoplarTest, NumbersExceedReadsOverwritesAndTheBuffersLastNumber) {
  for (int i = 0; i < 5; ++i) publish(0, {});
  for (int i = 0; i < 6; ++i) publish(1, {});
  const Published t1 = publish(0, {.max_overwritten = 2});
  EXPECT_EQ(t1.sequence, 6u);
  const Published t2 = publish(1, {.max_overwritten = t1.sequence});
  EXPECT_EQ(t2.sequence, 7u);
  const Published t3 = publish(0, {.max_read = t2.sequence, .reads = true});
  EXPECT_EQ(t3.sequence, 8u);
  // t4 overwrites a row that t3 has read. The number of t4 need not exceed the number of t3.
  const Published t4 = publish(1, {.max_overwritten = t2.sequence});
  EXPECT_EQ(t4.sequence, 8u);
  EXPECT_EQ(t1.stream, 0u);
  EXPECT_EQ(t2.stream, 1u);
}

TEST_F(PoplarTest, OnlyWriteOnlyTransactionsWaitForTheirOwnBufferAlone) {
  for (const uint32_t home : {0, 1}) {
    const uint32_t away = 1 - home;
    const Published other = publish(away, {});
    const Published writes = publish(home, {});
    const Published reads = publish(home, kReads);
    EXPECT_NE(writes.point.queue, reads.point.queue);
    flush(home);
    EXPECT_TRUE(durable(writes));
    EXPECT_FALSE(durable(reads));
    EXPECT_FALSE(durable(other));
    EXPECT_FALSE(durable(scheme().commit_read_only(home, {.max_read = other.sequence})));
    flush(away);
    EXPECT_TRUE(durable(reads));
    EXPECT_TRUE(durable(other));
    EXPECT_TRUE(durable(scheme().commit_read_only(home, {.max_read = other.sequence})));
  }
}

TEST_F(PoplarTest, RecoveryKeepsWriteOnlyTransactionsAboveTheCutOfOthers) {
  const Published early = publish(0, kReads);
  publish(1, {.max_overwritten = early.sequence});
  flush(0);
  flush(1);
  const Published lost = publish(1, kReads);
  const Published reader = publish(0, {.max_read = lost.sequence, .reads = true});
  const Published writer = publish(0, {});
  flush(0);
  EXPECT_TRUE(durable(writer));
  EXPECT_FALSE(durable(reader));
  EXPECT_TRUE(survives(early, 0));
  EXPECT_FALSE(survives(reader, 0));
  EXPECT_TRUE(survives(writer, kWriteOnly));
}

// The commits of buffer 0 have already waited for T. If these commits also need buffer 1, they must
// not wait for the T of a later commit in buffer 1.
TEST_F(PoplarTest, ACommitWaitsForTOnceThoughTheOtherBufferIsNotIdle) {
  options_.config.flush_us = 1'000'000'000;
  options_.config.flush_help = false;
  open();
  publish(0, {});
  const Published reads = publish(0, kReads);
  publish(1, {});
  scheme().flush(1, false);
  EXPECT_EQ(counter("flushes"), 0) << "buffer 1 did not wait for T";
  flush(0);
  EXPECT_FALSE(durable(reads));
  for (int i = 0; i < 3; ++i) scheme().flush(1, false);
  EXPECT_TRUE(durable(reads));
}

TEST_F(PoplarTest, LookingForWorkClosesNoSegment) {
  options_.device = "sim:1";  // workers may poll this device
  options_.config.flush_us = 1'000'000'000;
  open();
  for (int i = 0; i < 100; ++i) {
    publish(0, kReads);
    scheme().poll(0);
    scheme().poll(1);
    EXPECT_FALSE(scheme().idle());
  }
  EXPECT_EQ(counter("segments"), 0);
  flush(0);
  EXPECT_EQ(counter("segments"), 1) << "the write closes the segment";
  EXPECT_EQ(counter("flushes"), 1);
  flush(1);
  EXPECT_EQ(counter("segments"), 2) << "the other stream's watermark record";
}

TEST_F(PoplarTest, ARecordThatReachesTheIoUnitClosesItsSegment) {
  flags_.set("poplar_segment_bytes", "4096");
  options_.config.flush_us = 1'000'000'000;
  open();
  for (int i = 0; i < 10 * 4096 / 64; ++i) publish(0);
  EXPECT_EQ(counter("segments"), 10);
  flush(0);
  EXPECT_EQ(counter("segments"), 10);
}

TEST_F(PoplarTest, ALongWriteIncludesTheEndOfTheSegmentThatItCloses) {
  options_.device = "sim:1";
  options_.io_depth = 4;
  options_.config.flush_help = false;
  open();
  constexpr int kLong = 24 * 1024 / 64;
  int writes = 0;
  uint64_t number = 0;
  for (int records = kLong; records < kLong + 20; ++records) {
    Published last{};
    for (int i = 0; i < records; ++i) last = publish(0, {});
    ++writes;
    while (!durable(last)) scheme().flush(0, false);
    ASSERT_EQ(counter("flushes"), writes) << "of " << records << " records";
    number = last.sequence;
  }
  const double padding = counter("padding_bytes");
  EXPECT_GT(padding, 0);
  publish(1, {.max_overwritten = number});
  flush(1);
  EXPECT_EQ(cut().sequence, number) << "padding ends stream 0 and has the last record's number";
  publish(0, {});
  flush(0);
  EXPECT_EQ(counter("padding_bytes"), padding) << "a short write ends anywhere";
}

TEST_F(PoplarTest, WatermarkRecordsAreWrittenOnlyForTransactionsThatRead) {
  for (int i = 0; i < 10; ++i) {
    publish(0, {});
    flush(0);
    flush(1);
  }
  EXPECT_EQ(counter("watermark_records"), 0);
  publish(0, kReads);
  flush(0);
  flush(1);
  EXPECT_EQ(counter("watermark_records"), 1);
}

}  // namespace
}  // namespace logjam
