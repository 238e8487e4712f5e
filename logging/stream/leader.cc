#include "logging/stream/leader.h"

namespace logjam {

void Leader::wait(uint32_t worker, const CommitPoint& point, Flush flush) {
  // With a flush policy a commit waits until enough others have come, and the daemon decides when
  // that is.
  const bool may_lead = help_ && (state_.policy().immediate() || flush == Flush::kNow);
  bool slept = false;
  while (!waiters_.is_durable(point)) {
    if (!may_lead) {
      waiters_.park(worker, point, safety_timeout_ns_);
      continue;
    }
    if (lead_.take()) {
      lead(point);
      // The device waits for the next leader. So the lead goes first, and then the waiters wake up.
      daemon_.give_up_lead();
      waiters_.wake_durable();
      if (waiters_.is_durable(point)) break;
    }
    slept = true;
    lead_.park(worker, point, safety_timeout_ns_);
  }
  // Perhaps this worker was woken to take the lead, and a poll made its point durable first. Then
  // another waiter must take the lead.
  if (slept) lead_.pass_on([this] { return !state_.idle(); });
}

void Leader::lead(const CommitPoint& point) {
  const platform::lock_guard hold(state_.latch());
  bool advanced = false;
  uint64_t flushes = 0;
  while (!waiters_.is_durable(point) && !state_.idle()) {
    if (advanced) waiters_.wake_durable();
    if (state_.start(Flush::kNow, true)) {
      ++flushes;
    } else if (state_.under_way() != 0) {
      state_.wait_for_device(FlushDaemon::kMostSleepNs);
    }
    advanced = state_.finish();
  }
  state_.count_help(flushes);
}

}  // namespace logjam
