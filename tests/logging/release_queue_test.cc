// The release queue alone: which thread releases which region (Aether, Alg. 5, A.6).
#include "logging/schemes/aether/release_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "logging/schemes/common/handoff_lock.h"

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

// The ring has few nodes. So it wraps often, joiners wait for nodes, and the turn is handed to
// nodes that are not joined yet.
TEST_F(ReleaseQueueTest, ManyThreadsReleaseInOrder) {
  constexpr uint32_t kThreads = 8, kInserts = 250;
  for (const uint32_t treadmill : {1u, 4u, 32u}) {
    for (const uint32_t nodes : {2u, 4u, 16u}) {
      SCOPED_TRACE(testing::Message()
                   << nodes << " nodes, 1 in " << treadmill << " is not delegated");
      ReleaseQueue queue(nodes, treadmill);
      HandoffLock lock(kThreads);
      uint64_t next = 0;
      std::vector<std::atomic<bool>> filled(kThreads * kInserts);
      std::atomic<uint64_t> delegated{0}, too_early{0};
      std::atomic<bool> done{false};
      std::thread flusher([&] {
        for (uint64_t seen = 0; !done.load();) {
          const uint64_t end = queue.filled();
          for (; seen < end; ++seen) too_early += filled[seen].load() ? 0 : 1;
          std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
      });
      std::vector<std::thread> threads;
      for (uint32_t t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
          std::mt19937_64 random(t);
          for (uint32_t i = 0; i < kInserts; ++i) {
            lock.lock();
            const uint64_t begin = next++;
            const Region region{.begin = begin, .end = begin + 1, .node = queue.join(begin + 1)};
            lock.unlock();
            if (random() % 64 == 0) std::this_thread::yield();
            filled[begin].store(true);
            if (!queue.release(region, random())) delegated.fetch_add(1);
            platform::full_fence();
            queue.after_published();
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
      done.store(true);
      flusher.join();
      EXPECT_EQ(queue.filled(), kThreads * kInserts) << "a region was never released";
      EXPECT_EQ(too_early.load(), 0u) << "released before it was filled";
      if (treadmill == 1) {
        EXPECT_EQ(delegated.load(), 0u);
      }
    }
  }
}

}  // namespace
}  // namespace logjam
