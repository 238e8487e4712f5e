// tide: numbers, floors and watermarks, which streams a commit waits for, and which records
// recovery keeps.

#include "tests/logging/scripted_log.h"

namespace logjam {
namespace {

constexpr uint64_t kStep = 1 << 16;  // rise of a floor

class TideTest : public ScriptedLog {
 protected:
  TideTest() {
    options_ = log_options_of_many(*find_scheme("tide"), directory_, "sync", 4, 2);
    open();
  }

  // Workers 0 and 2 write to stream 0; workers 1 and 3 write to stream 1.
  Dependencies reads_of(const Published& from) { return reads(scheme(), 0, from.sequence); }
};

TEST_F(TideTest, AWriteRaisesTheFloorOfItsStreamAboveThoseOfAll) {
  const Published before = publish(0), other = publish(1);
  flush(0);
  EXPECT_GT(publish(0).sequence, before.sequence + kStep - 1);
  EXPECT_LT(publish(1).sequence, kStep) << "the other stream was not written";
  flush(1);
  EXPECT_GT(publish(1).sequence, 2 * kStep);
  EXPECT_TRUE(durable(other));
}

TEST_F(TideTest, ATransactionWaitsForTheNextWriteOfEachStream) {
  const Published one = publish(0);
  flush(0);
  EXPECT_FALSE(durable(one)) << "stream 1 has no watermark yet";
  flush(1);
  EXPECT_TRUE(durable(one)) << "an idle stream must follow";
}

TEST_F(TideTest, RecoveryKeepsWhatEveryStreamHasAWatermarkOf) {
  const Published one = publish(0), other = publish(1);
  flush(0);
  EXPECT_FALSE(survives(one));
  flush(1);
  EXPECT_TRUE(survives(one));
  EXPECT_FALSE(survives(publish(1, reads_of(other)))) << "not written";
}

TEST_F(TideTest, DependenciesMayAddMoreThanAFloorRisesBy) {
  const Published far = publish(0, {.max_overwritten = 10 * kStep});
  for (int i = 0; i < 12 && !durable(far); ++i) flush_all();
  EXPECT_TRUE(durable(far));
  EXPECT_TRUE(scheme().idle());
}

// A worker's buffer is half as long as the bytes that the worker fills between two writes.
TEST_F(TideTest, LittleOfTheLogIsPadding) {
  constexpr int kWrites = 20, kRecords = 200;
  uint64_t bytes = 0;
  for (int write = 0; write < kWrites; ++write) {
    for (int i = 0; i < kRecords; ++i) bytes += publish(0).bytes;
    flush(0);
  }
  EXPECT_LT(counter("padding_bytes"), static_cast<double>(bytes) * 0.5);
}

using TideDeathTest = TideTest;

TEST_F(TideDeathTest, TheProcessEndsBeforeNumbersHaveNoBitsLeft) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  constexpr uint64_t kLastStep = (uint64_t{1} << (kSequenceBits - 16)) - (uint64_t{1} << (58 - 16));
  flags_.set("test", "tide_first_step:" + std::to_string(kLastStep - 1));
  open();
  publish(0);
  flush(0);
  EXPECT_GT(publish(0).sequence, kLastStep * kStep);
  EXPECT_EXIT(flush(0), testing::ExitedWithCode(3), "has had all its numbers");
}

}  // namespace
}  // namespace logjam
