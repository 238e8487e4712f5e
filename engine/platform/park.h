// Sleeping until another thread says so.
#pragma once

#include <cstdint>

#include "platform/atomic.h"

namespace logjam::platform {

inline constexpr uint64_t kForever = ~uint64_t{0};

// Sleeps while `word` is `expected`, until woken or `timeout_ns` has passed; may return early.
void wait_on(const atomic<uint32_t>& word, uint32_t expected, uint64_t timeout_ns = kForever);
void wake_one(const atomic<uint32_t>& word);
void wake_all(const atomic<uint32_t>& word);

// One thread's bed. Protocol: only its owner calls park(); any thread calls unpark(). An unpark()
// that comes first is not lost: the next park() returns at once. What was written before unpark()
// is visible after the park() it ended (release / acquire on state_).
class Parker {
 public:
  void park(uint64_t timeout_ns = kForever);
  void unpark();

 private:
  static constexpr uint32_t kEmpty = 0, kNotified = 1, kParked = 2;
  atomic<uint32_t> state_{kEmpty};
};

}  // namespace logjam::platform
