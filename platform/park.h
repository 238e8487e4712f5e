// Sleeping until another thread wakes the sleeper. Any thread may call these functions.
#pragma once

#include <cstdint>

#include "platform/atomic.h"

namespace logjam::platform {

inline constexpr uint64_t kForever = ~uint64_t{0};

// Sleeps, if `word` is `expected`, until a wake-up or the timeout. May return early.
void wait_on(const atomic<uint32_t>& word, uint32_t expected, uint64_t timeout_ns = kForever);
void wake_one(const atomic<uint32_t>& word);
void wake_all(const atomic<uint32_t>& word);

// The place where one thread, its owner, sleeps. Only the owner calls park(); any thread calls
// unpark(). If unpark() comes first, the next park() does not sleep. After park(), the owner sees
// the stores that the waking thread made before unpark().
class Parker {
 public:
  // Sleeps until unpark(), or until the timeout is over. May return early.
  void park(uint64_t timeout_ns = kForever);
  void unpark();

 private:
  static constexpr uint32_t kEmpty = 0, kNotified = 1, kParked = 2;
  atomic<uint32_t> state_{kEmpty};
};

}  // namespace logjam::platform
