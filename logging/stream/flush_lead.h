// The lead of a stream: at most one thread *leads*, that is, writes and sleeps on the device. This
// file decides which thread leads, and which waiter is woken to lead next.
//
//   kFree    no thread leads. No waiter sleeps, or one waiter has been woken to take the lead.
//   kHeld    a thread leads.
//   kOnCall  no thread leads, because there was nothing to flush. Waiters sleep, because before
//            their commits lies a hole that its worker has not filled yet. The thread that makes
//            work pending frees the lead and wakes one waiter. Without this state the waiters would
//            hand the lead to each other, a system call each, until the hole is filled.
//
// Protocol. take() makes kFree or kOnCall to kHeld. The leader gives the lead up: it stores
// kOnCall, fences, and *offers* the lead. A thread that makes work pending (it advances filled(),
// which starts all other work) fences and offers the lead, too. To offer means: if the lead is on
// call and work is pending, make kOnCall to kFree, fence, and wake one waiter that would lead. So
// nothing is handed over if no work is pending. A waiter says that it is about to sleep, fences,
// and sleeps only if its commit is not durable and the lead is not free (DurabilityWaiters::park).
// When it has slept and leaves because its commit is durable, it fences, and if the lead is free,
// passes it on, because it may be the waiter that was woken to lead: it wakes another waiter, or
// puts the lead on call if no work is pending. The lead stays free while the other waiter wakes up.
// (If the leaving waiter took the lead for a moment, the woken waiter would go to sleep again.)
//
// No wake-up is lost. In each pair that follows, both sides store, fence, and look; so at least one
// side sees what the other stored.
//   * Publisher and leader. The publisher stores its record's bytes and looks at the lead. The
//     leader stores kOnCall and looks for work. Either the leader sees the work and offers the
//     lead, or the publisher sees that the lead is on call, and offers it.
//   * Offer and sleeper. The offer stores kFree and looks for a waiter. The waiter stores that it
//     waits and looks at the lead. Either the offer wakes the waiter (or another one), or the
//     waiter sees a free lead, does not sleep, and takes the lead.
//   * Offer and a waiter that leaves. The offer stores kFree and looks for a waiter. The waiter
//     stores that it waits no more and looks at the lead. Either the offer does not choose this
//     waiter, or the waiter sees that the lead is free, and takes care of it.
// If an offer fails to make kOnCall to kFree, another thread did that and wakes a waiter, or a
// thread took the lead. That thread's take() came after the publisher's look at the lead, hence
// its later fence and look for work come after the publisher's fence: it sees the work. A leader
// that gives up with work pending wakes the next one, so the chain ends only when nothing is
// pending, or when no waiter is left. In that case the lead stays free, and the next waiter takes
// it instead of sleeping. Until then the daemon or a polling worker does the work (stream.h).
#pragma once

#include <cstdint>

#include "logging/stream/durability_waiters.h"
#include "platform/atomic.h"

namespace logjam {

class FlushLead {
 public:
  // The lead of stream `stream`, whose waiters are among `waiters`.
  FlushLead(uint32_t stream, DurabilityWaiters& waiters) : stream_(stream), waiters_(waiters) {}

  // Returns whether a thread leads. Any thread may call it; the answer may be late.
  bool held() const { return load() == kHeld; }

  // Takes the lead if it is free or on call. Returns whether the caller leads now. Called by a
  // thread that would lead.
  bool take() {
    uint32_t seen = load();
    return seen != kHeld && state_.compare_exchange_strong(seen, kHeld);
  }

  // Gives the lead up and offers it. `work_pending` and the result are those of offer(). Called by
  // the leader.
  template <class WorkPending>
  bool give_up(const WorkPending& work_pending) {
    state_.store(kOnCall, platform::memory_order_release);
    platform::full_fence();
    return offer(work_pending);
  }

  // Wakes a waiter to lead if the lead is on call and `work_pending()`: there is something to
  // flush. Returns false if there is, and no waiter to lead. Any thread may call it, after a full
  // fence that follows its store that may have made work pending.
  template <class WorkPending>
  bool offer(const WorkPending& work_pending) {
    uint32_t seen = kOnCall;
    if (load() != kOnCall || !work_pending()) return true;
    if (!state_.compare_exchange_strong(seen, kFree)) return true;
    if (!waiters_.wake_one_to_lead(stream_)) return false;
    handed_over_.fetch_add(1, platform::memory_order_relaxed);
    return true;
  }

  // Passes a free lead on: wakes another waiter, or puts the lead on call if no work is pending.
  // Called by a waiter that has slept, and leaves because its commit is durable.
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

  // Sleeps as DurabilityWaiters::park says, but not while the lead is free. Called by the thread of
  // `worker`.
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
