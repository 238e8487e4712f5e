// MariaDB's log latch (log_sys.latch since 10.8), as its log needs it: workers share it while they
// fill the log buffer, and a thread that is about to write takes it alone. When the writer has it,
// every copy that has begun has ended. So the log needs nothing that tracks holes. The price is a
// cache line that each record writes twice.
//
// A waiting writer keeps later sharers out: they stand back until it has unlocked. So a stream of
// records does not starve the writer. It gives up after a while, because a flusher must come back
// although a sharer is descheduled; MariaDB's waits.
//
// Protocol. The low bits of `word_` count the sharers, and kWriter is set from when a writer comes
// until it leaves. All stores are read-modify-writes, so each continues the releases of those
// before. A writer that loads (acquire) no sharers sees all that the sharers before it have done. A
// sharer that finds no writer (acquire) sees what the writer before it has done. A sharer that
// finds a writer takes its count back; a writer may see that count, and waits a moment longer.
#pragma once

#include "platform/spin.h"

namespace logjam {

class LJ_CAPABILITY("latch") alignas(platform::kCacheLine) SharedLatch {
 public:
  // Any thread may call any function. A thread that holds the latch does not take it again.

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

  // Takes the latch alone. Returns false, without it, if that needs more than `rounds` of waiting.
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
