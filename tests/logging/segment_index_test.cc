#include "logging/schemes/common/segment_index.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "platform/spin.h"
#include "tests/logging/watchdog.h"

namespace logjam {
namespace {

TEST(SegmentIndex, ASegmentIsPassableWhenItIsClosedAndFilled) {
  SegmentIndex index(4);
  const auto advance = [&] {
    uint64_t last = 0;
    index.advance([&](uint64_t end, uint64_t) { last = end; });
    return last;
  };
  EXPECT_FALSE(index.passable()) << "none is closed";
  index.filled(index.open(), 60);
  EXPECT_FALSE(index.passable()) << "the first one is open";
  const uint32_t first = index.open();
  index.close(100, 100, 7);
  EXPECT_FALSE(index.passable()) << "it has a hole";
  EXPECT_EQ(advance(), 0U);
  index.filled(index.open(), 30);
  index.close(30, 130, 8);
  EXPECT_FALSE(index.passable()) << "the second one is filled, the first one is not";
  index.filled(first, 40);
  EXPECT_TRUE(index.passable());
  EXPECT_EQ(advance(), 130U);
  EXPECT_FALSE(index.passable()) << "both are passed";
}

// Each thread fills its part of a segment, then looks once. The segment is passed although the
// thread that fills the last part finds another one passing.
TEST(SegmentIndex, OfAllThreadsThatFillASegmentOnePassesIt) {
  Watchdog watchdog("a segment that is closed and filled is not passed");
  constexpr uint32_t kThreads = 3, kSegments = 1000, kBytes = 8;
  SegmentIndex index(8);
  platform::SpinLock closing, advancing;
  std::atomic<uint64_t> passed{0};
  const auto pass = [&] {
    if (!index.passable()) return;
    advancing.lock();
    index.advance([&](uint64_t, uint64_t) { ++passed; });
    advancing.unlock();
  };
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t number = 0; number < kSegments; ++number) {
        while (passed.load() != number) std::this_thread::yield();
        index.filled(static_cast<uint32_t>(number % 16), kBytes);
        if (t == number % kThreads) {
          closing.lock();
          index.close(uint64_t{kThreads} * kBytes, number, number);
          closing.unlock();
        }
        pass();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(passed.load(), kSegments);
}

}  // namespace
}  // namespace logjam
