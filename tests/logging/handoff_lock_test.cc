// The hand-off lock's two ways of waiting, each alone. Poplar's latch and the latch of the buffer
// chunks are hand-off locks, too.
#include "logging/buffer/handoff_lock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "platform/placement.h"
#include "tests/logging/watchdog.h"

namespace logjam {
namespace {

template <class Lock>
class HandoffLockTest : public testing::Test {};
using Locks = testing::Types<BackoffLock, QueueLock>;
TYPED_TEST_SUITE(HandoffLockTest, Locks);

TYPED_TEST(HandoffLockTest, OneThreadAtATimeHoldsTheLockWithMoreThreadsThanCores) {
  Watchdog watchdog("a thread that waits for a HandoffLock does not get it");
  constexpr uint64_t kThreads = 4, kTimes = 1000;
  TypeParam lock;
  uint64_t count = 0;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < kTimes; ++i) {
        lock.lock();
        ++count;
        lock.unlock();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * kTimes);
}

TYPED_TEST(HandoffLockTest,
           ThreadsThatTryGetTheLockOnlyIfNoThreadHasItAndAnotherThreadMayReleaseIt) {
  Watchdog watchdog("a thread that waits for a HandoffLock does not get it");
  constexpr uint64_t kThreads = 4, kTimes = 200;
  TypeParam lock;
  uint64_t count = 0;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < kTimes; ++i) {
        if (i % 2 == 0 || !lock.try_lock()) lock.lock();
        ++count;
        std::thread([&] { lock.unlock(); }).join();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * kTimes);
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
}

// The lock is held for so long that the waiters go to sleep.
TYPED_TEST(HandoffLockTest, EveryThreadThatSleepsAtTheLockIsWoken) {
  Watchdog watchdog("a thread that sleeps at a HandoffLock is not woken");
  constexpr int kThreads = 4;
  for (int round = 0; round < 3; ++round) {
    TypeParam lock;
    lock.lock();
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        lock.lock();
        lock.unlock();
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    lock.unlock();
    for (auto& thread : threads) thread.join();
    EXPECT_TRUE(lock.try_lock());
  }
}

TEST(HandoffLock, ThreadsStandInLineOnlyIfTheyAreManyAndHaveACoreEach) {
  EXPECT_FALSE(HandoffLock(2).in_line());
  EXPECT_FALSE(HandoffLock(platform::core_count() + 1).in_line());
  EXPECT_EQ(HandoffLock(platform::core_count()).in_line(), platform::core_count() >= 12);
}

}  // namespace
}  // namespace logjam
