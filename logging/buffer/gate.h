// Where threads wait for what another one is about to do: they spin, give their core away, and
// sleep if it takes long (that one lost its core, or waits for the device).
//
// Protocol. A waiter counts itself in `waiters_`, fences, looks again, and sleeps on `event_`. One
// that made the condition true fences, and looks at `waiters_`. One of the two sees the other, so
// no wake-up is lost, and there is no time-out.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/park.h"
#include "platform/spin.h"

namespace logjam {

class Gate {
 public:
  template <class Condition>
  void wait(const Condition& holds) {
    platform::SpinWait spin;
    while (!holds()) {
      if (spin.rounds() < kRoundsBeforeSleep) {
        spin.once();
      } else {
        sleep_unless(holds);
      }
    }
  }

  void notify() {
    platform::full_fence();
    notify_behind_fence();
  }
  // For a caller that has fenced since the condition became true.
  void notify_behind_fence() {
    if (waiters_.load(platform::memory_order_relaxed) == 0) return;
    event_.fetch_add(1);
    platform::wake_all(event_);
  }

 private:
  static constexpr uint32_t kRoundsBeforeSleep = 96;

  template <class Condition>
  void sleep_unless(const Condition& holds) {
    waiters_.fetch_add(1);
    const uint32_t seen = event_.load();
    platform::full_fence();
    if (!holds()) platform::wait_on(event_, seen);
    waiters_.fetch_sub(1);
  }

  platform::atomic<uint32_t> waiters_{0};
  platform::atomic<uint32_t> event_{0};
};

}  // namespace logjam
