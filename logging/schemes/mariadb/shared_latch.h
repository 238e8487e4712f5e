// MariaDB's log latch (log_sys.latch since 10.8). Workers share the latch while they fill the log
// buffer, and a thread that is about to write takes the latch exclusively. When the writer has the
// latch, no worker is copying a record. So the log does not track holes. The price is a cache line
// that each worker writes twice for each record.
//
// While a writer waits or writes, new sharers wait, so that they do not starve the writer. The
// writer gives up after a while (MariaDB's does not), because a flusher must return even if a
// sharer is descheduled.
//
// Protocol. The low bits of `word_` count the sharers, and kWriter is set from a writer's arrival
// until the writer leaves. All stores are read-modify-writes, so each store continues the earlier
// releases. A writer that loads (acquire) no sharers sees all that earlier sharers have done. A
// sharer that finds no writer (acquire) sees all that earlier writers have done. A sharer that
// finds a writer subtracts its own count again; a writer that sees this count waits a bit longer.
#pragma once

#include "platform/spin.h"

namespace logjam {

class LJ_CAPABILITY("latch") alignas(platform::kCacheLine) SharedLatch {
 public:
  // The latch is not reentrant.

  void lock_shared() LJ_ACQUIRE_SHARED() {
    for (platform::SpinWait wait;; wait.once()) {
      if ((word_.load(platform::memory_order_relaxed) & kWriter) != 0) continue;
      if ((word_.fetch_add(1, platform::memory_order_acq_rel) & kWriter) == 0) return;
      unlock_shared();
    }
  }
  void unlock_shared() LJ_RELEASE_SHARED() {
    const uint32_t before = word_.fetch_sub(1, platform::memory_order_acq_rel);
    LJ_ASSERT((before & ~kWriter) != 0);
  }

  // Takes the latch exclusively. Returns false, without the latch, after `rounds` of waiting.
  bool lock(uint32_t rounds) LJ_TRY_ACQUIRE(true) {
    platform::SpinWait wait;
    for (; (word_.fetch_or(kWriter, platform::memory_order_acq_rel) & kWriter) != 0; wait.once()) {
      if (wait.rounds() >= rounds) return false;
    }
    for (; word_.load(platform::memory_order_acquire) != kWriter; wait.once()) {
      if (wait.rounds() < rounds) continue;
      unlock();
      return false;
    }
    return true;
  }
  void unlock() LJ_RELEASE() {
    const uint32_t before = word_.fetch_and(~kWriter, platform::memory_order_acq_rel);
    LJ_ASSERT((before & kWriter) != 0);
  }

 private:
  static constexpr uint32_t kWriter = uint32_t{1} << 31;

  platform::atomic<uint32_t> word_{0};
};

}  // namespace logjam
