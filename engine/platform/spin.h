// Waiting without sleeping. Every spin in the project goes through pause().
#pragma once

#include <immintrin.h>
#include <sched.h>

#include <cstdint>

#include "platform/atomic.h"

namespace logjam::platform {

inline void pause() { _mm_pause(); }
inline void yield() { sched_yield(); }

// Spin politely: some pauses while the other thread is likely running, then give the core away,
// because with more threads than cores the one waited for may need it.
class SpinWait {
 public:
  void once() {
    if (rounds_++ < kPausesBeforeYield) {
      pause();
    } else {
      yield();
    }
  }
  uint32_t rounds() const { return rounds_; }

 private:
  static constexpr uint32_t kPausesBeforeYield = 64;
  uint32_t rounds_ = 0;
};

// A one-word lock for short critical sections (index nodes, flush leadership).
class SpinLock {
 public:
  void lock() {
    SpinWait wait;
    while (!try_lock()) wait.once();
  }
  bool try_lock() {
    return !held_.load(memory_order_relaxed) && !held_.exchange(true, memory_order_acquire);
  }
  void unlock() { held_.store(false, memory_order_release); }

 private:
  atomic<bool> held_{false};
};

}  // namespace logjam::platform
