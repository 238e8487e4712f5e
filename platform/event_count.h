// An event count: threads wait for a condition that another thread is about to make true. They
// spin, then yield, and then sleep. The waits of logging/stream/ (flush_lead.h,
// durability_waiters.h) are variants, because a waiter there may take over work. Each of these
// files proves its variant.
//
// Protocol. `event_` is a count of notifications. It is odd while a waiter may be asleep or about
// to sleep. A waiter makes `event_` odd, executes a fence, and checks the condition. It sleeps only
// while the condition is false and `event_` is unchanged. A notifier makes the condition true,
// executes a fence, and loads `event_`. If `event_` is odd, the notifier makes it even and wakes
// all waiters. Each fence orders a thread's store before its load, so at least one of the two
// threads sees the other's store: the waiter finds the condition true, or the notifier finds
// `event_` odd. No wake-up is lost, and nothing relies on a time-out. If there are several
// notifiers, only one of them makes the system call.
#pragma once

#include <cstdint>

#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/park.h"
#include "platform/spin.h"

namespace logjam::platform {

class EventCount {
 public:
  // Waits until `holds()`. Any thread may call it.
  template <class Condition>
  void await(const Condition& holds) {
    SpinWait spin;
    while (!holds()) {
      if (spin.rounds() < kRoundsBeforeSleep) {
        spin.once();
      } else {
        Waiter waiter(*this);
        const uint32_t seen = waiter.prepare();
        if (!holds()) waiter.sleep(seen);
      }
    }
  }

  // Wakes the waiters. Any thread may call it, after it has made a condition true.
  void notify() {
    full_fence();
    notify_after_fence();
  }
  // Wakes the waiters, for a thread that has called full_fence() since the condition became true.
  void notify_after_fence() {
    uint32_t seen = event_.load(memory_order_relaxed);
    if ((seen & 1) != 0 && event_.compare_exchange_strong(seen, seen + 1)) wake_all(event_);
  }

  // Returns whether a Waiter exists. To miss no waiter, call full_fence() first.
  bool has_waiters() const { return waiters_.load(memory_order_relaxed) != 0; }

  // A wait in steps, for a thread that works between two checks of the condition, or that limits
  // its sleep.
  class Waiter {
   public:
    explicit Waiter(EventCount& count) : count_(count) { count_.waiters_.fetch_add(1); }
    ~Waiter() { count_.waiters_.fetch_sub(1); }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    // Returns the argument for sleep(). Call it before each check of the condition.
    uint32_t prepare() {
      const uint32_t seen = count_.event_.fetch_or(1) | 1;
      full_fence();
      return seen;
    }
    // Sleeps until a notify() that follows the prepare() that returned `seen`, but not longer than
    // `timeout_ns`. May return early.
    void sleep(uint32_t seen, uint64_t timeout_ns = kForever) {
      LJ_ASSERT_IN_TESTS((seen & 1) != 0);
      wait_on(count_.event_, seen, timeout_ns);
    }

   private:
    EventCount& count_;
  };

 private:
  // The rounds of spinning and yielding before a sleep. With fewer rounds, a thread sleeps and
  // wakes so late that the threads that wait for it sleep as well. Therefore the number is large:
  // Aether's CD with 64 threads, and a log thread on one of 64 cores, was 20 times as fast without
  // sleeps as with sleeps (simulated, niagara2).
  static constexpr uint32_t kRoundsBeforeSleep = 1024;

  atomic<uint32_t> waiters_{0};
  atomic<uint32_t> event_{0};
};

}  // namespace logjam::platform
