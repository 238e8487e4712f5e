// The two locks that one thread may take and another release, in all schedules with few
// preemptions.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "logging/schemes/common/backoff_lock.h"
#include "logging/schemes/common/queue_lock.h"
#include "platform/clock.h"
#include "tests/explored/searched_program.h"

namespace logjam::sim {
namespace {

// Waiters of these sleep at once, or after one pause and one yield.
using SleepingQueueLock = BasicQueueLock<0, 0>;
using SpinningQueueLock = BasicQueueLock<1, 1>;
struct SleepingBackoffLock : BackoffLock {
  SleepingBackoffLock() : BackoffLock(false) {}
};

// Each thread takes the lock `rounds` times, and adds 1 to a plain word. Checked: no addition is
// lost, so one thread at a time has the lock; and all threads end, so no wake-up is lost. A thread
// that comes again finds the lock as the last hand-off left it, and tries first.
template <class Lock>
class Additions {
 public:
  Additions(uint32_t threads, uint32_t rounds) : threads_(threads), rounds_(rounds) {}
  std::vector<Body> threads() {
    return std::vector<Body>(threads_, [this] {
      for (uint32_t i = 0; i < rounds_; ++i) {
        if (i % 2 == 0 || !shared_->lock.try_lock()) shared_->lock.lock();
        const uint64_t seen = shared_->sum;
        shared_->sum = seen + 1;
        shared_->lock.unlock();
      }
    });
  }
  std::string wrong() {
    if (shared_->sum != uint64_t{threads_} * rounds_) return "two threads had the lock";
    return shared_->lock.try_lock() ? "" : "the lock is not free";
  }

 private:
  struct Shared {
    Lock lock;
    volatile uint64_t sum = 0;
  };

  const uint32_t threads_, rounds_;
  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
};

TEST(QueueLockSteps, OneThreadAtATimeHasTheLockAndNoWakeUpIsLost) {
  search_all<Additions<SleepingQueueLock>>(4, 2u, 1u);
  search_all<Additions<SleepingQueueLock>>(3, 3u, 1u);
  search_all<Additions<SleepingQueueLock>>(3, 2u, 2u);
}

TEST(QueueLockSteps, OneThreadAtATimeHasTheLockBesideThreadsThatSpin) {
  search_all<Additions<SpinningQueueLock>>(4, 2u, 1u);
  search_all<Additions<QueueLock>>(3, 2u, 1u);
}

TEST(BackoffLockSteps, OneThreadAtATimeHasTheLockAndNoWakeUpIsLost) {
  platform::now_ns();  // reads the machine's profile, which is no part of a schedule
  search_all<Additions<SleepingBackoffLock>>(3, 2u, 2u);
  search_all<Additions<SleepingBackoffLock>>(3, 3u, 1u);
  search_all<Additions<BackoffLock>>(2, 3u, 1u);
}

}  // namespace
}  // namespace logjam::sim
