// A lock that one thread may take and another release. The leader of a group takes the log's lock,
// and the group's last member releases it (Aether, Alg. 2, L12 and L23). The lock is not reentrant.
//
// How threads wait for the lock depends on their number:
//
//   many, each with a core   stand in line (queue_lock.h)
//   few                      try one word (backoff_lock.h): the last owner may take the lock again
//                            without a transfer of cache lines
//   more threads than cores  try one word: a line would wait for a thread that has no core
//
// Million inserts per second, simulated, workload `micro`, device `discard`: with aether-cd and two
// threads (machine `this`), one word gives 6.3 and a line 2.6. With aether-c and 17 threads on 16
// cores, one word gives 30 and a line 1.4. With aether-cd and 64 threads, each with a core (machine
// milan2x64), both are within 2 times: the model decides no order there.
//
// With --test=lock_sleeps_at_once:1, waiters do not spin, as in glibc's mutex. Guarded fields can
// lie in the lock's cache line ([[no_unique_address]]): threads in line do not touch it.
#pragma once

#include "logging/schemes/common/backoff_lock.h"
#include "logging/schemes/common/queue_lock.h"
#include "platform/placement.h"
#include "platform/test_value.h"

namespace logjam {

class LJ_CAPABILITY("latch") HandoffLock {
 public:
  explicit HandoffLock(uint32_t threads)
      : in_line_(threads >= kLeastInLine && !waiters_sleep_at_once() &&
                 threads <= static_cast<uint32_t>(platform::core_count())),
        word_(!waiters_sleep_at_once()) {}

  bool in_line() const { return in_line_; }
  bool try_lock() LJ_TRY_ACQUIRE(true) { return in_line_ ? line_.try_lock() : word_.try_lock(); }
  void lock() LJ_ACQUIRE() { in_line_ ? line_.lock() : word_.lock(); }
  void unlock() LJ_RELEASE() { in_line_ ? line_.unlock() : word_.unlock(); }

 private:
  static constexpr uint32_t kLeastInLine = 12;

  inline static const platform::TestValue sleeps_at_once_{"lock_sleeps_at_once"};
  static bool waiters_sleep_at_once() { return sleeps_at_once_.get() != 0; }

  const bool in_line_;
  [[no_unique_address]] QueueLock line_;
  BackoffLock word_;
};

}  // namespace logjam
