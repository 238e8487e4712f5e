// When threads queue for the lock, and when a sleeper starves. tests/explored/buffers_test.cc has
// the schedules of waiting threads.
#include "logging/schemes/common/handoff_lock.h"

#include <gtest/gtest.h>

#include "tests/logging/watchdog.h"

namespace logjam {
namespace {

TEST(HandoffLock, ThreadsStandInLineOnlyIfTheyAreManyAndHaveACoreEach) {
  EXPECT_FALSE(HandoffLock(2).in_line());
  EXPECT_FALSE(HandoffLock(platform::core_count() + 1).in_line());
  EXPECT_EQ(HandoffLock(platform::core_count()).in_line(), platform::core_count() >= 12);
}

// Shows which thread starves. Can wake sleepers while the lock is held.
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
