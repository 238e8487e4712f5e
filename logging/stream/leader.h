// Workers that wait for their commits. One of them leads: it writes and sleeps on the device
// itself, under the latch, until its commit is durable or nothing is left to flush. Then it hands
// the lead to another waiter, if there is work (flush_lead.h). The others park. This is group
// commit without the two hand-offs between threads that a daemon costs. After a flush of this
// stream a commit may still wait: for a hole before it, or for another stream.
#pragma once

#include <cstdint>

#include "logging/stream/flush_daemon.h"
#include "logging/stream/flush_lead.h"
#include "logging/stream/stream_state.h"

namespace logjam {

class Leader {
 public:
  Leader(const LogConfig& config, StreamState& state, FlushLead& lead, FlushDaemon& daemon,
         DurabilityWaiters& waiters)
      : help_(config.flush_help),
        safety_timeout_ns_(config.safety_timeout_ns),
        state_(state),
        lead_(lead),
        daemon_(daemon),
        waiters_(waiters) {}

  // Blocks until `point` is durable. With Flush::kNow, the thread leads even if the policy is not
  // immediate. Called by the thread of `worker`.
  void wait(uint32_t worker, const CommitPoint& point, Flush flush);

 private:
  void lead(const CommitPoint& point) LJ_EXCLUDES(state_.latch());

  const bool help_;
  const uint64_t safety_timeout_ns_;
  StreamState& state_;
  FlushLead& lead_;
  FlushDaemon& daemon_;
  DurabilityWaiters& waiters_;
};

}  // namespace logjam
