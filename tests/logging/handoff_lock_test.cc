// The hand-off lock alone. Poplar's latch and the latch of the buffer chunks are such locks, too.
#include "logging/buffer/handoff_lock.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/logging/watchdog.h"

namespace logjam {
namespace {

TEST(HandoffLockTest, OneThreadAtATimeHoldsTheLock) {
  constexpr uint64_t kThreads = 8, kTimes = 20'000;
  HandoffLock lock;
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

TEST(HandoffLockTest, EveryThreadThatSleepsAtTheLockIsWokenAlthoughAnotherThreadReleasesIt) {
  Watchdog watchdog("a thread that sleeps at a HandoffLock is not woken");
  constexpr int kThreads = 4;
  for (int round = 0; round < 100; ++round) {
    HandoffLock lock;
    lock.lock();
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        lock.lock();
        std::thread([&] { lock.unlock(); }).join();
      });
    }
    std::this_thread::yield();
    lock.unlock();
    for (auto& thread : threads) thread.join();
    EXPECT_TRUE(lock.try_lock());
  }
}

}  // namespace
}  // namespace logjam
