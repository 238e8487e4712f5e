// Waiting without sleeping at first. Every spin in the project goes through pause().
#pragma once

#include <algorithm>
#include <cstdint>

#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/cpu.h"
#include "platform/thread_annotations.h"

namespace logjam::platform {

// Spins with restraint. The first rounds only pause, because the awaited thread is probably
// running. Later rounds yield: with more threads than cores, the awaited thread may need this core.
// The last rounds sleep: threads that only yield to each other keep the kernel's own workers off a
// core (Linux 6.18 ran none of them for a minute), and the awaited thread may need these workers.
//
// A thread that preempts the awaited threads sleeps in place of yielding. If it yields, the kernel
// lets a worker have the core until the next tick, up to 4 ms, although the worker may need the
// core for a microsecond. Its sleep is longer, because a very short one (1 us was measured) ends
// before the thread has given up its core.
class SpinWait {
 public:
  // Tells whether the calling thread preempts the threads that it waits for.
  static void preempt_awaited(bool preempts) { preempts_ = preempts; }

  void once() {
    if (rounds_++ < kPausesBeforeYield) {
      pause();
    } else if (rounds_ < kRoundsBeforeSleep && !preempts_) {
      yield();
    } else {
      sleep_ns(preempts_ ? kPreemptingSleepNs : kSleepNs);
    }
  }
  // Returns whether the next once() sleeps although it would otherwise yield.
  bool would_sleep_early() const { return preempts_ && rounds_ >= kPausesBeforeYield; }
  uint32_t rounds() const { return rounds_; }

 private:
  static constexpr uint32_t kPausesBeforeYield = 64, kRoundsBeforeSleep = 1024;
  static constexpr uint64_t kSleepNs = 20'000, kPreemptingSleepNs = 100'000;
  static inline thread_local bool preempts_ = false;

  uint32_t rounds_ = 0;
};

// Waits with ever longer pauses between two loads of the awaited word. Each load of each waiter
// takes the cache line away from the awaited thread, which needs the line to end the wait. With
// many waiters, their loads alone keep the line busy (Anderson, TPDS 1990). One thread uses an
// object for one wait.
class BackOff {
 public:
  void once() {
    for (uint32_t i = 0; i < gap_; ++i) wait_.once();
    gap_ = std::min(2 * gap_, kLongestGap);
  }
  // Returns how many rounds of SpinWait this object has waited.
  uint32_t rounds() const { return wait_.rounds(); }
  bool waits_longest() const { return gap_ == kLongestGap; }

 private:
  static constexpr uint32_t kLongestGap = 32;

  SpinWait wait_;
  uint32_t gap_ = 1;
};

// A one-word lock for short critical sections. The thread that holds it unlocks it.
class LJ_CAPABILITY("latch") SpinLock {
 public:
  void lock() LJ_ACQUIRE() {
    SpinWait wait;
    while (!try_lock()) wait.once();
  }
  bool try_lock() LJ_TRY_ACQUIRE(true) {
    return !held_.load(memory_order_relaxed) && !held_.exchange(true, memory_order_acquire);
  }
  void unlock() LJ_RELEASE() {
    LJ_ASSERT_IN_TESTS(held_.load(memory_order_relaxed));
    held_.store(false, memory_order_release);
  }

 private:
  atomic<bool> held_{false};
};

}  // namespace logjam::platform
