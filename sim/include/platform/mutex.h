// platform/mutex.h of the simulated machine: a mutex like glibc's, one word and a futex (U.
// Drepper, "Futexes Are Tricky", mutex 2). Its atomics are instrumented like all other atomics.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/park.h"
#include "platform/thread_annotations.h"

namespace logjam::platform {

class LJ_CAPABILITY("mutex") mutex {
 public:
  mutex() = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  void lock() LJ_ACQUIRE() {
    uint32_t seen = kFree;
    if (state_.compare_exchange_strong(seen, kHeld, memory_order_acquire)) return;
    while (state_.exchange(kWaitedFor, memory_order_acquire) != kFree) wait_on(state_, kWaitedFor);
  }
  bool try_lock() LJ_TRY_ACQUIRE(true) {
    uint32_t seen = kFree;
    return state_.compare_exchange_strong(seen, kHeld, memory_order_acquire);
  }
  void unlock() LJ_RELEASE() {
    if (state_.exchange(kFree, memory_order_release) == kWaitedFor) wake_one(state_);
  }

 private:
  static constexpr uint32_t kFree = 0, kHeld = 1, kWaitedFor = 2;
  atomic<uint32_t> state_{kFree};
};

}  // namespace logjam::platform
