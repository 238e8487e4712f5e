// A lock whose waiters all try one word. Any thread may release the lock.
//
// A waiter spins, then yields, then sleeps. Each try takes the lock's cache line from the thread
// that holds the lock, which uses other words of this line. So the time between two tries doubles,
// but only up to four pauses: with longer pauses, a waiter would starve while one thread inserts
// again and again. A waiter sleeps late, because waiters that sleep early make a convoy
// (platform/event_count.h).
//
// A thread that has the lock in its cache takes the lock again long before a sleeper has woken up.
// So a sleeper that has waited for kMostWaitNs *starves*: until it has the lock, only sleepers and
// threads about to sleep compete with it. kMostWaitNs is long, because while a thread starves, the
// lock may be idle during each wake-up.
//
// Protocol. `state_` is the lock (Drepper, "Futexes are tricky", mutex 2). A thread that goes to
// sleep, or has woken up, takes the lock as kSleepers, so that its release wakes the next thread.
// `starving_` counts the threads that starve. A stale count only delays a starving thread.
#pragma once

#include "platform/park.h"
#include "platform/spin.h"

namespace logjam {

class LJ_CAPABILITY("latch") BackoffLock {
 public:
  explicit BackoffLock(bool spins = true) : rounds_before_sleep_(spins ? 1024 : 0) {}

  bool try_lock() LJ_TRY_ACQUIRE(true) {
    uint32_t seen = state_.load(platform::memory_order_relaxed);
    return seen == kFree && starving_.load(platform::memory_order_relaxed) == 0 &&
           state_.compare_exchange_strong(seen, kHeld, platform::memory_order_acquire,
                                          platform::memory_order_relaxed);
  }
  void lock() LJ_ACQUIRE() {
    if (!try_lock()) wait();
  }
  void unlock() LJ_RELEASE() {
    const uint32_t state = state_.exchange(kFree, platform::memory_order_release);
    LJ_ASSERT(state != kFree);
    if (state == kSleepers) platform::wake_one(state_);
  }

 private:
  static constexpr uint32_t kFree = 0, kHeld = 1, kSleepers = 2;
  static constexpr uint32_t kMostPauses = 4;
  static constexpr uint64_t kMostWaitNs = 10'000'000;

  [[gnu::noinline]] void wait() LJ_NOT_ANALYSED {  // wait() returns with the lock
    platform::SpinWait spin;
    for (uint32_t pauses = 1; spin.rounds() < rounds_before_sleep_;
         pauses = std::min(2 * pauses, kMostPauses)) {
      for (uint32_t i = 0; i < pauses; ++i) spin.once();
      if (try_lock()) return;
    }
    sleep();
  }

  void sleep() {
    const uint64_t begin = platform::now_ns();
    bool starves = false;
    while (state_.exchange(kSleepers, platform::memory_order_acquire) != kFree) {
      platform::wait_on(state_, kSleepers);
      if (starves || platform::now_ns() - begin < kMostWaitNs) continue;
      starves = true;
      starving_.fetch_add(1, platform::memory_order_relaxed);
    }
    if (starves) starving_.fetch_sub(1, platform::memory_order_relaxed);
  }

 protected:  // for tests
  platform::atomic<uint32_t> state_{kFree};
  platform::atomic<uint32_t> starving_{0};

 private:
  const uint32_t rounds_before_sleep_;
};

}  // namespace logjam
