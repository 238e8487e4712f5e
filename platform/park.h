// Sleeping until another thread wakes the sleeper.
#pragma once

#include <cstdint>

#include "platform/atomic.h"

namespace logjam::platform {

inline constexpr uint64_t kForever = ~uint64_t{0};

// Sleeps, if `word` is `expected`, until another thread wakes the caller or `timeout_ns`
// nanoseconds have passed. May return early. Any thread may call it.
void wait_on(const atomic<uint32_t>& word, uint32_t expected, uint64_t timeout_ns = kForever);
// Wakes one of the threads that sleep on `word`. Any thread may call it.
void wake_one(const atomic<uint32_t>& word);
// Wakes all threads that sleep on `word`. Any thread may call it.
void wake_all(const atomic<uint32_t>& word);

// The place where one thread, its owner, sleeps.
//
// Protocol. Only the owner calls park(); any thread calls unpark(). An unpark() that comes before
// its park() is not lost: the next park() returns at once. All that a thread wrote before unpark()
// is visible to the owner after the park() that this unpark() ended (release and acquire on
// `state_`).
class Parker {
 public:
  // Sleeps until unpark(), or for `timeout_ns` nanoseconds. May return early.
  void park(uint64_t timeout_ns = kForever);
  void unpark();

 private:
  static constexpr uint32_t kEmpty = 0, kNotified = 1, kParked = 2;
  atomic<uint32_t> state_{kEmpty};
};

}  // namespace logjam::platform
