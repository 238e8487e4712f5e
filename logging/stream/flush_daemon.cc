#include "logging/stream/flush_daemon.h"

namespace logjam {

void FlushDaemon::rely(bool begins, bool gap) {
  if (!begins) {
    relying_.fetch_sub(1, platform::memory_order_relaxed);
    return;
  }
  relying_.fetch_add(1, platform::memory_order_relaxed);
  platform::full_fence();
  const uint32_t state = state_.load(platform::memory_order_relaxed);
  if (state == kNapping || (state == kTimed && gap)) wake();
}

bool FlushDaemon::nap_if_workers_flush(uint64_t helped, bool led, const Ring& ring, Flush flush) {
  // Where log threads preempt workers, a worker that led a moment ago leaves the next flush to the
  // daemon.
  const bool workers_flush = led || (naps_ && helped != helped_seen_);
  helped_seen_ = helped;
  if (!workers_flush || flush == Flush::kNow || !may_nap(ring)) return false;
  idle_naps_ = 0;
  nap(ring);
  return true;
}

}  // namespace logjam
