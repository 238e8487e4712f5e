// The daemon of a stream: the log's thread that flushes when no worker does.
//
// With --flush_help the daemon naps as long as workers do the work, and takes a turn when no worker
// took a step for a whole nap. The daemon does not nap while a worker relies on the daemon. In an
// open loop, a worker that sleeps until its next arrival relies on the daemon: if the worker led,
// it would start its next transaction late. With --flush_help=false only the daemon flushes, as in
// Aether (section 4.1). If workers may not poll, the daemon leads: it sleeps on the device under
// the latch. Otherwise it sleeps without the latch, so that workers can take the latch.
//
// Protocol.
//   state_    how the daemon sleeps. The daemon stores a state, fences, looks for work, and parks.
//             A publisher advances filled(), fences, and looks at state_. The same holds for
//             threads that wait for space (Ring). The thread that changes state_ back to kAwake
//             unparks the daemon, once. This is no platform::EventCount, because the state says
//             which events wake the daemon.
//   relied_on()  of StreamState. A worker counts itself there, fences, and looks whether the daemon
//                naps, or waits for the gap to pass. The daemon stores its state, fences, and looks
//                at relied_on(). At least one of the two sees the other.
#pragma once

#include <algorithm>
#include <cstdint>

#include "logging/log_config.h"
#include "logging/stream/flush_lead.h"
#include "logging/stream/stream_state.h"
#include "platform/atomic.h"
#include "platform/park.h"

namespace logjam {

// Returns whether busy workers take steps of the stream (Stream::poll).
inline bool workers_poll(const LogConfig& config, const StreamState& state) {
  return config.flush_help && !config.preemptible_workers && !state.start_blocks();
}

class FlushDaemon {
 public:
  static constexpr uint64_t kMostSleepNs = 20'000'000;  // the longest step (LogScheme::flush)

  FlushDaemon(const LogConfig& config, StreamState& state, FlushLead& lead,
              DurabilityWaiters& waiters)
      : nap_ns_(config.nap_ns),
        naps_(config.flush_help && !config.preemptible_workers),
        leads_(!workers_poll(config, state)),
        preempts_(config.preemptible_workers),
        stream_(state),
        lead_(lead),
        waiters_(waiters) {}

  void wake() {
    if (state_.exchange(kAwake) != kAwake) parker_.unpark();
  }
  // Wakes the daemon if it is idle, or if it sleeps for the flush timeout and `is_enough()` says
  // that enough is filled. Call it after a full fence that follows the publish.
  template <class IsEnough>
  void on_publish(const IsEnough& is_enough) {
    const uint32_t state = state_.load(platform::memory_order_relaxed);
    if (state == kIdle || (state == kTimed && is_enough())) wake();
  }
  // Counts a worker that begins (`begins`) or ceases to rely on the daemon. When a worker begins,
  // wakes the daemon from a nap, and from a sleep until the gap has passed.
  void rely(bool begins);
  // Gives up the lead. Wakes the daemon if there is work, but no worker to lead or to poll.
  void give_up_lead() {
    const bool left_alone = !lead_.give_up([this] { return !stream_.idle(); });
    if (left_alone && leads_) wake();
  }
  void turn(Flush flush) LJ_REQUIRES(platform::log_role);

 private:
  enum State : uint32_t {
    kAwake,
    kNapping,  // workers do the daemon's work: only a full ring or rely() wakes the daemon
    kTimed,    // sleeps until the flush timeout or the gap has passed: enough bytes wake it
    kIdle,     // has nothing to do: any publish wakes it
  };
  enum class Turn : uint8_t { kNotTaken, kStepped, kAdvanced };
  // After this number of naps without work the daemon sleeps until a publisher wakes it.
  static constexpr uint32_t kNapsBeforeIdle = 20;

  bool nap_if_workers_flush(Flush flush) LJ_REQUIRES(platform::log_role);
  Turn take_step(Flush flush) LJ_REQUIRES(platform::log_role);
  void sleep_idle(Flush flush) LJ_REQUIRES(platform::log_role);
  void let_hole_be_filled() LJ_REQUIRES(platform::log_role);
  bool writes_one_at_a_time() LJ_REQUIRES(stream_.latch());
  uint64_t next_start_ns() const;
  bool nobody_waits() const { return !stream_.ring().waited_for() && !stream_.relied_on(); }
  void nap() LJ_REQUIRES(platform::log_role) {
    park(kNapping, nap_ns_, [this] { return !nobody_waits(); });
  }
  // Sleeps until woken or for `timeout_ns`, unless `is_wanted()` returns true.
  template <class IsWanted>
  void park(State state, uint64_t timeout_ns, const IsWanted& is_wanted)
      LJ_REQUIRES(platform::log_role) {
    state_.store(state);
    platform::full_fence();
    if (!is_wanted()) parker_.park(timeout_ns);
    state_.store(kAwake);
  }

  platform::atomic<uint32_t> state_{kAwake};
  platform::Parker parker_;

  uint32_t idle_naps_ LJ_GUARDED_BY(platform::log_role) = 0;
  uint64_t helped_seen_ LJ_GUARDED_BY(platform::log_role) = 0;
  const uint64_t nap_ns_;
  const bool naps_;      // workers do the daemon's work, and the daemon does not preempt workers
  const bool leads_;     // the daemon sleeps on the device under the latch
  const bool preempts_;  // the daemon preempts workers
  StreamState& stream_;
  FlushLead& lead_;
  DurabilityWaiters& waiters_;
};

}  // namespace logjam
