// The conversion of a stream's durable position to the durable sequence number.
#include "logging/schemes/common/durable_sequence.h"

#include <gtest/gtest.h>

namespace logjam {
namespace {

TEST(DurableSequence, APairHoldsFromItsEndOnAndNotBefore) {
  DurableSequence sequence;
  sequence.record(64, 10);
  sequence.record(72, 20);
  EXPECT_EQ(sequence.at(63), 0u);
  EXPECT_EQ(sequence.at(64), 10u);
  EXPECT_EQ(sequence.end(), 64u);
  EXPECT_EQ(sequence.at(71), 10u);
  EXPECT_EQ(sequence.at(72), 20u);
  EXPECT_EQ(sequence.end(), 72u);
}

TEST(DurableSequence, APairThatComesLateIsIgnored) {
  DurableSequence sequence;
  sequence.record(128, 20);
  sequence.record(64, 10);
  EXPECT_EQ(sequence.at(127), 0u);
  EXPECT_EQ(sequence.at(128), 20u);
}

TEST(DurableSequence, WhenTooManyPairsWaitTheNewestStandsForTheOneBefore) {
  DurableSequence sequence;
  for (uint64_t i = 1; i <= 5000; ++i) sequence.record(64 * i, i);
  EXPECT_EQ(sequence.at(64 * 10), 10u);
  EXPECT_LT(sequence.at(64 * 4999), 4999u);
  EXPECT_EQ(sequence.at(64 * 5000), 5000u);
}

// A Poplar buffer may have 1000 segments, each with a pair that waits until the segment's end is
// durable.
TEST(DurableSequence, AThousandPairsMayWait) {
  DurableSequence sequence;
  for (uint64_t i = 1; i <= 1024; ++i) sequence.record(64 * i, i);
  for (uint64_t i = 1; i <= 1024; ++i) ASSERT_EQ(sequence.at(64 * i), i);
}

}  // namespace
}  // namespace logjam
