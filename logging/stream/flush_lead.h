// The lead of a stream: at most one thread *leads*, which means that it writes and sleeps on the
// device. This class decides which thread leads, and which waiter is woken to lead next.
//
//   kFree    no thread leads. No waiter sleeps, or one waiter has been woken to take the lead.
//   kHeld    a thread leads.
//   kOnCall  no thread leads, because there was nothing to flush. Waiters sleep, because a hole
//            before their commits is not filled yet. The thread that makes work pending frees the
//            lead and wakes one waiter. Without this state waiters would pass the lead around,
//            with one system call each time, until the hole is filled.
//
// Protocol. take() changes kFree or kOnCall to kHeld. The leader gives the lead up: it stores
// kOnCall, fences, and *offers* the lead. A thread that makes work pending (it advances filled(),
// which starts all other work) also fences and offers the lead. To offer means: if the lead is on
// call and work is pending, change kOnCall to kFree, fence, and wake one waiter that is ready to
// lead. A waiter says that it is about to sleep, fences, and sleeps only if its commit is not
// durable and the lead is not free (DurabilityWaiters::park). A waiter that has slept may be the
// waiter that was woken to lead. So when it leaves because its commit is durable, it fences, and
// passes on a free lead. To pass on means: wake another waiter, or put the lead on call if no work
// is pending. The lead stays free while the other waiter wakes up. (If the leaving waiter took the
// lead for a moment, the woken waiter would go to sleep again.)
//
// No wake-up is lost. In each pair that follows, both sides store, fence, and look; so at least one
// side sees the other's store.
//   * Publisher and leader. The publisher stores its record's bytes and looks at the lead. The
//     leader stores kOnCall and looks for work. Either the leader sees the work and offers the
//     lead, or the publisher sees that the lead is on call, and offers it.
//   * Offer and sleeper. The offer stores kFree and looks for a waiter. The waiter stores that it
//     waits and looks at the lead. Either the offer wakes a waiter, or the waiter sees a free lead,
//     does not sleep, and takes the lead.
//   * Offer and a waiter that leaves. The offer stores kFree and looks for a waiter. The waiter
//     stores that it waits no more and looks at the lead. Either the offer does not choose this
//     waiter, or the waiter sees that the lead is free, and passes it on.
// If an offer fails to change kOnCall to kFree, another thread made this change and wakes a waiter,
// or a thread took the lead. Then take() came after the publisher's look at the lead. So the new
// leader fences and looks for work after the publisher's fence, and sees the work. A leader that
// gives up with work pending wakes the next leader, so the chain ends only when nothing is pending,
// or when no waiter is left. In that case the lead stays free, and the next waiter takes it instead
// of sleeping. Until then the daemon or a polling worker does the work (stream.h).
#pragma once

#include <cstdint>

#include "logging/stream/durability_waiters.h"
#include "platform/atomic.h"

namespace logjam {

class FlushLead {
 public:
  FlushLead(uint32_t stream, DurabilityWaiters& waiters) : stream_(stream), waiters_(waiters) {}

  // Returns whether a thread leads. Any thread may call it; the answer may be late.
  bool held() const { return load() == kHeld; }

  // Returns whether the caller leads now.
  bool take() {
    uint32_t seen = load();
    return seen != kHeld && state_.compare_exchange_strong(seen, kHeld);
  }

  // Returns the result of offer(). The leader calls it.
  template <class WorkPending>
  bool give_up(const WorkPending& work_pending) {
    state_.store(kOnCall, platform::memory_order_release);
    platform::full_fence();
    return offer(work_pending);
  }

  // Offers the lead. Returns false if work is pending, but no waiter is ready to lead. Any thread
  // may call it, after a full fence that follows the store that may have made work pending.
  template <class WorkPending>
  bool offer(const WorkPending& work_pending) {
    uint32_t seen = kOnCall;
    if (load() != kOnCall || !work_pending()) return true;
    if (!state_.compare_exchange_strong(seen, kFree)) return true;
    if (!waiters_.wake_one_to_lead(stream_)) return false;
    handed_over_.fetch_add(1, platform::memory_order_relaxed);
    return true;
  }

  // Passes on a free lead. A waiter that has slept calls it when its commit is durable.
  template <class WorkPending>
  void pass_on(const WorkPending& work_pending) {
    platform::full_fence();
    if (load() != kFree) return;
    if (work_pending()) {
      waiters_.wake_one_to_lead(stream_);
    } else if (take()) {
      give_up(work_pending);
    }
  }

  // Sleeps as DurabilityWaiters::park() does, but not while the lead is free.
  void park(uint32_t worker, const CommitPoint& point, uint64_t timeout_ns) {
    waiters_.park(worker, point, timeout_ns, &state_);
  }

  // Returns how often a waiter was woken to lead. Any thread may call it.
  uint64_t handed_over() const { return handed_over_.load(platform::memory_order_relaxed); }

 private:
  enum State : uint32_t { kFree = DurabilityWaiters::kFree, kHeld, kOnCall };

  uint32_t load() const { return state_.load(platform::memory_order_relaxed); }

  const uint32_t stream_;
  DurabilityWaiters& waiters_;
  platform::atomic<uint32_t> state_{kFree};
  platform::atomic<uint64_t> handed_over_{0};
};

}  // namespace logjam
