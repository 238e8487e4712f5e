// From the position up to which a stream is durable to the sequence number that is durable.
#include "logging/schemes/common/durable_sequence.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

#include "platform/atomic.h"

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

// As many as a Poplar buffer of 64 MiB has segments of 64 KiB.
TEST(DurableSequence, AThousandPairsMayWait) {
  DurableSequence sequence;
  for (uint64_t i = 1; i <= 1024; ++i) sequence.record(64 * i, i);
  for (uint64_t i = 1; i <= 1024; ++i) ASSERT_EQ(sequence.at(64 * i), i);
}

// A thread that finds the latch taken does not queue for it, but it waits until the pairs that its
// position reaches are removed: who goes to sleep with a smaller number is woken by nobody.
TEST(DurableSequence, ThreadsThatAskTogetherAllFindWhatTheirPositionReaches) {
  constexpr uint64_t kLast = 50'000;
  DurableSequence sequence;
  platform::atomic<uint64_t> durable{0}, too_small{0};
  std::vector<std::thread> askers;
  for (int i = 0; i < 4; ++i) {
    askers.emplace_back([&] {
      for (uint64_t at = 0; at < 64 * kLast;) {
        at = durable.load();
        if (sequence.at(at) < at / 64) too_small.fetch_add(1);
      }
    });
  }
  for (uint64_t i = 1; i <= kLast; ++i) {
    sequence.at(durable.load());  // makes room, as a scheme does
    sequence.record(64 * i, i);
    durable.store(64 * i);
  }
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(too_small.load(), 0u);
}

}  // namespace
}  // namespace logjam
