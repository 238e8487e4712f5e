// An event count: threads wait for a condition that another thread is about to make true. They
// spin, give their core away, and sleep if it takes long (the other thread has lost its core, or
// waits for the device). This is the project's one form of "store, fence, look".
//
// Protocol. `event_` is a count of notifications, odd while a waiter may be asleep or about to be.
// A waiter makes it odd, fences, looks at the condition, and sleeps only while the condition is
// false and `event_` is what the waiter made of it. A notifier makes the condition true, fences,
// looks at `event_`, and if it is odd, makes it even and wakes all waiters. The fences order each
// side's store before its look, so at least one side sees the other's store: either the waiter
// finds the condition true, or the notifier finds `event_` odd. No wake-up is lost, and nothing
// relies on a time-out. Of several notifiers one makes the system call, and none does while the
// waiters that it woke have not run yet.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/park.h"
#include "platform/spin.h"

namespace logjam::platform {

class EventCount {
 public:
  // Any thread. Returns when `holds()` is true, which the caller's own look has seen.
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

  // Any thread, after it made a condition true.
  void notify() {
    full_fence();
    notify_behind_fence();
  }
  // The same for a thread that has called full_fence() since the condition became true.
  void notify_behind_fence() {
    uint32_t seen = event_.load(memory_order_relaxed);
    if ((seen & 1) != 0 && event_.compare_exchange_strong(seen, seen + 1)) wake_all(event_);
  }

  // Whether a Waiter lives. May be late: a caller that must not miss a waiter fences first.
  bool has_waiters() const { return waiters_.load(memory_order_relaxed) != 0; }

  // A wait in steps, for a waiter that has work to do between its looks at the condition, or that
  // bounds its sleep. While a Waiter lives, has_waiters() is true. One thread's.
  class Waiter {
   public:
    explicit Waiter(EventCount& count) : count_(count) { count_.waiters_.fetch_add(1); }
    ~Waiter() { count_.waiters_.fetch_sub(1); }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    // Call it before each look at the condition; returns what sleep() wants.
    uint32_t prepare() {
      const uint32_t seen = count_.event_.fetch_or(1) | 1;
      full_fence();
      return seen;
    }
    // Sleeps until notified or for `timeout_ns`; may return early. Returns at once if a notify came
    // after prepare() returned `seen`.
    void sleep(uint32_t seen, uint64_t timeout_ns = kForever) {
      wait_on(count_.event_, seen, timeout_ns);
    }

   private:
    EventCount& count_;
  };

 private:
  // As long as SpinWait only yields. Threads that sleep sooner come back so late that the next ones
  // sleep as well: with a log thread on one of 64 cores, 64 threads of Aether's CD went on at a
  // twentieth of the rate that they have without the sleepers (simulated, niagara2).
  static constexpr uint32_t kRoundsBeforeSleep = 1024;

  atomic<uint32_t> waiters_{0};
  atomic<uint32_t> event_{0};
};

}  // namespace logjam::platform
