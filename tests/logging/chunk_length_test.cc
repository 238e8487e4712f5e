// The length of private buffers' chunks, which depends on how much a worker fills and how often.
#include "logging/schemes/common/chunk_length.h"

#include <gtest/gtest.h>

#include "platform/clock.h"

namespace logjam {
namespace {

constexpr uint64_t kRing = uint64_t{16} << 20;

// Simulates intervals of `us` in which a worker fills `bytes`. Returns the next chunk's length.
uint64_t length_after(const ChunkLength& length, double us, uint64_t bytes) {
  ChunkLength::Filled filled;
  uint64_t now = platform::ns_to_ticks(1e9);
  for (uint64_t boundary = 1; boundary <= 3; ++boundary) {
    length.begin_interval(filled, boundary, now += platform::ns_to_ticks(us * 1e3));
    if (boundary < 3) filled.bytes = bytes;
  }
  return length.next(filled);
}

TEST(ChunkLengthTest, IsHalfOfAShortIntervalAndSixteenMicrosecondsOfALongOne) {
  const ChunkLength one(kRing, 1, ChunkLength::Rule::kAdaptive);
  EXPECT_EQ(length_after(one, 20, 8000), 4000);
  EXPECT_EQ(length_after(one, 200, 8000), 8000 / 12 / 8 * 8) << "16.6 us, which is once 12 times";
  EXPECT_EQ(length_after(one, 1e6, 64 << 10), (64 << 10) / 64) << "at most 64 chunks";
  const ChunkLength many(kRing, 64, ChunkLength::Rule::kAdaptive);
  EXPECT_EQ(length_after(many, 200, 9000), 3000) << "54.4 us";
}

TEST(ChunkLengthTest, GrowsWithAWorkerThatFillsMoreThanBefore) {
  const ChunkLength length(kRing, 1, ChunkLength::Rule::kAdaptive);
  ChunkLength::Filled filled;
  length.begin_interval(filled, 1, platform::ns_to_ticks(1e3));
  EXPECT_EQ(length.next(filled), length.least());
  filled.bytes = 8000;
  EXPECT_EQ(length.next(filled), 4000);
  filled.bytes = uint64_t{1} << 20;
  EXPECT_EQ(length.next(filled), uint64_t{32} << 10);
}

TEST(ChunkLengthTest, IsOneLengthByTheFixedRule) {
  const ChunkLength fixed(kRing, 4, ChunkLength::Rule::kFixed);
  EXPECT_EQ(length_after(fixed, 20, 8000), uint64_t{32} << 10);
  const ChunkLength small(uint64_t{1} << 20, 60, ChunkLength::Rule::kFixed);
  EXPECT_LE(small.least(), (uint64_t{1} << 20) / (4 * 60)) << "each owner has four in the ring";
}

}  // namespace
}  // namespace logjam
