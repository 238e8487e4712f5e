// The hand-off lock's two ways of waiting, each alone. Poplar's latch and the latch of the buffer
// chunks are hand-off locks, too.
#include "logging/schemes/common/handoff_lock.h"

#include <gtest/gtest.h>

#include <atomic>
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

// Adds 1 to one number, N times on each of several threads, always under the lock. Returns the
// number.
template <class Lock, class LockIt, class Unlock>
uint64_t added_under(Lock& lock, uint64_t threads, uint64_t times, const LockIt& lock_it,
                     const Unlock& unlock) {
  Watchdog watchdog("a thread that waits for a HandoffLock does not get it");
  uint64_t sum = 0;
  std::vector<std::thread> adders;
  for (uint64_t t = 0; t < threads; ++t) {
    adders.emplace_back([&] {
      for (uint64_t i = 0; i < times; ++i) {
        lock_it(lock, i);
        ++sum;
        unlock(lock);
      }
    });
  }
  for (auto& adder : adders) adder.join();
  return sum;
}

TYPED_TEST(HandoffLockTest, OneThreadAtATimeHoldsTheLockWithMoreThreadsThanCores) {
  TypeParam lock;
  const uint64_t sum = added_under(
      lock, 4, 1000,
      [](TypeParam& it, uint64_t i) {
        it.lock();
        if (i % 8 == 0) std::this_thread::yield();  // so that others wait meanwhile
      },
      [](TypeParam& it) { it.unlock(); });
  EXPECT_EQ(sum, 4 * 1000U);
}

TYPED_TEST(HandoffLockTest,
           ThreadsThatTryGetTheLockOnlyIfNoThreadHasItAndAnotherThreadMayReleaseIt) {
  TypeParam lock;
  const auto try_each_second_time = [](TypeParam& it, uint64_t i) {
    if (i % 2 == 0 || !it.try_lock()) it.lock();
  };
  const auto unlock_by_another = [](TypeParam& it) { std::thread([&] { it.unlock(); }).join(); };
  EXPECT_EQ(added_under(lock, 4, 200, try_each_second_time, unlock_by_another), 4 * 200U);
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

// Shows who starves, and wakes sleepers although the lock is held.
class ObservedLock : public BackoffLock {
 public:
  uint32_t starving() const { return starving_.load(); }
  void wake() { platform::wake_one(state_); }
};

TEST(BackoffLockTest, NoThreadTakesTheLockBeforeASleeperThatStarves) {
  const Watchdog watchdog("a sleeper that is woken again and again does not starve");
  ObservedLock lock;
  std::atomic<bool> may_go{false};
  lock.lock();
  std::thread sleeper([&] {
    lock.lock();
    while (!may_go.load()) std::this_thread::yield();
    lock.unlock();
  });
  while (lock.starving() == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    lock.wake();
  }
  lock.unlock();
  while (lock.starving() != 0) EXPECT_FALSE(lock.try_lock()) << "it is the sleeper's turn";
  may_go.store(true);
  sleeper.join();
  EXPECT_TRUE(lock.try_lock());
}

}  // namespace
}  // namespace logjam
