#include "platform/park.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

#include "platform/assert.h"

namespace logjam::platform {

void wait_on(const atomic<uint32_t>& word, uint32_t expected, uint64_t timeout_ns) {
  timespec t{static_cast<time_t>(timeout_ns / 1'000'000'000),
             static_cast<long>(timeout_ns % 1'000'000'000)};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, timeout_ns == kForever ? nullptr : &t,
          nullptr, 0);
}

void wake_one(const atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void wake_all(const atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void Parker::park(uint64_t timeout_ns) {
  uint32_t seen = kEmpty;
  if (state_.compare_exchange_strong(seen, kParked, memory_order_acq_rel)) {
    wait_on(state_, kParked, timeout_ns);
  } else {
    LJ_ASSERT(seen == kNotified);  // otherwise two threads park
  }
  state_.exchange(kEmpty, memory_order_acq_rel);
}

void Parker::unpark() {
  if (state_.exchange(kNotified, memory_order_acq_rel) == kParked) wake_all(state_);
}

}  // namespace logjam::platform
