// The release queue alone: which thread releases which region (Aether, Alg. 5, A.6).
#include "logging/schemes/aether/release_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace logjam {
namespace {

constexpr uint64_t kAbandon = 1, kStay = 0;  // release()'s random number

class ReleaseQueueTest : public testing::Test {
 protected:
  Region join(ReleaseQueue& queue, uint64_t bytes) {
    const uint64_t begin = end_;
    end_ += bytes;
    return {.begin = begin, .end = end_, .node = queue.join(end_)};
  }
  uint64_t end_ = 0;
};

TEST_F(ReleaseQueueTest, ARegionFilledEarlyIsReleasedByItsPredecessor) {
  ReleaseQueue queue;
  const Region first = join(queue, 65536), second = join(queue, 48), third = join(queue, 48);
  EXPECT_FALSE(queue.release(third, kAbandon));
  EXPECT_FALSE(queue.release(second, kAbandon));
  EXPECT_EQ(queue.filled(), 0u) << "released past a region that is not filled";
  EXPECT_TRUE(queue.release(first, kAbandon));
  EXPECT_EQ(queue.filled(), third.end) << "the delegated regions were not released";
  const Region fourth = join(queue, 8);
  EXPECT_EQ(queue.filled(), third.end);
  EXPECT_TRUE(queue.release(fourth, kAbandon)) << "delegated to a node that is already released";
  EXPECT_EQ(queue.filled(), fourth.end);
}

TEST_F(ReleaseQueueTest, ReleasingStopsAtARegionThatIsNotFilled) {
  ReleaseQueue queue;
  const Region first = join(queue, 8), second = join(queue, 8), third = join(queue, 8),
               fourth = join(queue, 8);
  EXPECT_FALSE(queue.release(second, kAbandon));
  EXPECT_FALSE(queue.release(fourth, kAbandon));
  EXPECT_TRUE(queue.release(first, kAbandon));
  EXPECT_EQ(queue.filled(), second.end);
  EXPECT_TRUE(queue.release(third, kAbandon));
  EXPECT_EQ(queue.filled(), fourth.end);
}

TEST_F(ReleaseQueueTest, AReleaseThatIsNotDelegatedWaitsForItsTurn) {
  ReleaseQueue queue;
  const Region first = join(queue, 8), second = join(queue, 8), third = join(queue, 8);
  std::atomic<bool> returned{false};
  std::thread stays([&] {
    EXPECT_TRUE(queue.release(second, kStay));
    returned.store(true);
  });
  EXPECT_FALSE(queue.release(third, kAbandon));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(returned.load());
  EXPECT_TRUE(queue.release(first, kAbandon));
  stays.join();
  EXPECT_EQ(queue.filled(), third.end);
}

}  // namespace
}  // namespace logjam
