// A lock that one thread may take and another release: the leader of a group takes the log's, the
// last member to leave releases it (Aether, Alg. 2, L11 and L23). Spins, yields, then sleeps.
//
// Protocol. `state_` is the whole lock (Drepper, "Futexes are tricky", mutex 2): taken with
// acquire, released with release. One that goes to sleep, or wakes up, takes it as kSleepers, so
// that its release wakes the next.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/park.h"
#include "platform/spin.h"

namespace logjam {

class HandoffLock {
 public:
  bool try_lock() {
    uint32_t seen = state_.load(platform::memory_order_relaxed);
    return seen == kFree &&
           state_.compare_exchange_strong(seen, kHeld, platform::memory_order_acquire,
                                          platform::memory_order_relaxed);
  }
  void lock() {
    if (!try_lock()) wait();
  }
  void unlock() {
    if (state_.exchange(kFree, platform::memory_order_release) == kSleepers) {
      platform::wake_one(state_);
    }
  }

 private:
  static constexpr uint32_t kFree = 0, kHeld = 1, kSleepers = 2;
  static constexpr uint32_t kRoundsBeforeSleep = 96;

  void wait() {
    platform::SpinWait spin;
    while (spin.rounds() < kRoundsBeforeSleep) {
      spin.once();
      if (try_lock()) return;
    }
    while (state_.exchange(kSleepers, platform::memory_order_acquire) != kFree) {
      platform::wait_on(state_, kSleepers);
    }
  }

  platform::atomic<uint32_t> state_{kFree};
};

}  // namespace logjam
