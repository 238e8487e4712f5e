// An event count: threads wait for a condition that another thread is about to make true. They
// spin, then yield, and then sleep. It is the usual form of "store, fence, look". The waits of
// logging/stream/ (flush_lead.h, durability_waiters.h) have forms of their own, because a waiter
// there may take over work. Each of these files proves its form.
//
// Protocol. `event_` is a count of notifications, odd while a waiter may be asleep or about to
// sleep. A waiter makes it odd, fences, looks at the condition, and sleeps only while the condition
// is false and `event_` is unchanged. A notifier makes the condition true, fences, looks at
// `event_`, and if it is odd, makes it even and wakes all waiters. The fences order each side's
// store before its look, so at least one side sees the other's store. The waiter finds the
// condition true, or the notifier finds `event_` odd. No wake-up is lost, and nothing relies on a
// time-out. If there are several notifiers, only one of them makes the system call.
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

  // Returns whether a Waiter exists. The answer may be old: fence first to miss no waiter.
  bool has_waiters() const { return waiters_.load(memory_order_relaxed) != 0; }

  // A wait in steps, for a thread that works between its looks or limits its sleep.
  class Waiter {
   public:
    explicit Waiter(EventCount& count) : count_(count) { count_.waiters_.fetch_add(1); }
    ~Waiter() { count_.waiters_.fetch_sub(1); }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    // Returns the argument for sleep(). Call it before each look at the condition.
    uint32_t prepare() {
      const uint32_t seen = count_.event_.fetch_or(1) | 1;
      full_fence();
      return seen;
    }
    // Sleeps until a notify() after prepare() gave `seen`, at most `timeout_ns`. May return early.
    void sleep(uint32_t seen, uint64_t timeout_ns = kForever) {
      LJ_ASSERT_IN_TESTS((seen & 1) != 0);
      wait_on(count_.event_, seen, timeout_ns);
    }

   private:
    EventCount& count_;
  };

 private:
  // The rounds before a sleep. With fewer rounds, threads sleep and return so late that the next
  // threads sleep as well. Aether's CD with 64 threads, and a log thread on one of 64 cores, was 20
  // times as fast without sleeps as with sleeps (simulated, niagara2).
  static constexpr uint32_t kRoundsBeforeSleep = 1024;

  atomic<uint32_t> waiters_{0};
  atomic<uint32_t> event_{0};
};

}  // namespace logjam::platform
