// The daemon of a stream: the log's thread that flushes when no worker does. This file decides how
// the daemon sleeps and which threads wake it. Its work while it is awake is Stream::flush.
//
// With --flush_help the daemon naps as long as workers do the work, and takes a turn when no worker
// did for a whole nap. It does not nap while a worker relies on it: in an open loop, a worker that
// sleeps until its next arrival does not lead, because it would start that transaction late. With
// --flush_help=false only the daemon flushes, as Aether's does (section 4.1).
//
// Protocol.
//   state_    how the daemon sleeps. The daemon stores a state here, fences, looks for work, and
//             parks. A publisher advances filled(), fences, and looks at state_. The same holds for
//             threads that wait for space (Ring). The thread that changes state_ back to kAwake
//             unparks the daemon, once. This is no platform::EventCount, because the state says
//             which events wake the daemon.
//   relying_  how many workers rely on the daemon. A worker counts itself, fences, and looks
//             whether the daemon naps, or waits for the gap to pass. The daemon stores its state,
//             fences, and looks at relying_, before it parks. One of the two sees the other.
// Only the daemon uses idle_naps_ and helped_seen_.
#pragma once

#include <algorithm>
#include <cstdint>

#include "logging/log_config.h"
#include "logging/stream/flush_policy.h"
#include "logging/stream/ring.h"
#include "platform/atomic.h"
#include "platform/park.h"

namespace logjam {

class FlushDaemon {
 public:
  static constexpr uint64_t kMostSleepNs = 20'000'000;  // the longest step (LogScheme::flush)

  explicit FlushDaemon(const LogConfig& config)
      : nap_ns_(config.nap_ns), naps_(config.flush_help && !config.preemptible_workers) {}

  // Wakes the daemon if it sleeps. Any thread may call it.
  void wake() {
    if (state_.exchange(kAwake) != kAwake) parker_.unpark();
  }
  // Wakes the daemon if it has nothing to do, or if it sleeps until T has passed and `enough()`
  // says that X transactions or L bytes are filled. Any thread may call it, after a full fence that
  // follows its publish.
  template <class Enough>
  void published(const Enough& enough) {
    const uint32_t state = state_.load(platform::memory_order_relaxed);
    if (state == kIdle || (state == kTimed && enough())) wake();
  }
  // Counts a worker that starts (`begins`) or stops relying on the daemon. If it starts, wakes the
  // daemon from a nap, and with `gap` from a timed sleep as well. Any thread may call it.
  void rely(bool begins, bool gap);
  // Returns whether a worker relies on the daemon. Any thread may call it; the answer may be late.
  bool relied_on() const { return relying_.load() != 0; }

  // The daemon alone calls the functions that follow.

  // Naps if workers do the work: one leads (`led`), or the number of their steps, `helped`, has
  // grown since the last call. Returns whether it napped. Does not nap with Flush::kNow.
  bool nap_if_workers_flush(uint64_t helped, bool led, const Ring& ring, Flush flush);
  // Sleeps until woken or for `timeout_ns`. Does not sleep if a flush is due (`due()`).
  template <class Due>
  void sleep_until_asked(uint64_t timeout_ns, const Due& due) {
    park(kTimed, std::min(timeout_ns, kMostSleepNs), due);
  }
  // Sleeps until something is published, unless `work_pending()`. The first kNapsBeforeIdle calls
  // since workers flushed only nap. A daemon without work sleeps even if a publisher waits for
  // space: nothing can be flushed before a hole is filled, and the publisher that fills it wakes
  // the daemon.
  template <class WorkPending>
  void sleep_until_published(const Ring& ring, Flush flush, const WorkPending& work_pending) {
    if (naps_ && flush == Flush::kByPolicy && may_nap(ring) && ++idle_naps_ <= kNapsBeforeIdle) {
      nap(ring);
    } else {
      park(kIdle, kMostSleepNs, work_pending);
    }
  }

 private:
  enum State : uint32_t {
    kAwake,
    kNapping,  // workers do the daemon's work: only a full ring or rely() wakes it
    kTimed,    // sleeps until T or the gap has passed: X transactions or L bytes wake it
    kIdle,     // has nothing to do: any publish wakes it
  };
  // After this number of naps without any work the daemon sleeps until a publisher wakes it.
  static constexpr uint32_t kNapsBeforeIdle = 20;

  bool may_nap(const Ring& ring) const { return !ring.waited_for() && !relied_on(); }
  void nap(const Ring& ring) {
    park(kNapping, nap_ns_, [&] { return !may_nap(ring); });
  }
  template <class Wanted>
  void park(State state, uint64_t timeout_ns, const Wanted& wanted) {
    state_.store(state);
    platform::full_fence();
    if (!wanted()) parker_.park(timeout_ns);
    state_.store(kAwake);
  }

  platform::atomic<uint32_t> state_{kAwake};
  platform::atomic<uint32_t> relying_{0};
  platform::Parker parker_;

  uint32_t idle_naps_ = 0;
  uint64_t helped_seen_ = 0;
  const uint64_t nap_ns_;
  const bool naps_;  // workers do its work, and it does not preempt them
};

}  // namespace logjam
