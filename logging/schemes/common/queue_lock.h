// A lock at which threads wait in line, each at its own word (Mellor-Crummey and Scott 1991). So a
// hand-off costs the same transfers of cache lines for two waiters and for sixty, and no thread
// starves. Any thread may release the lock, because the releaser needs no node: a waiter's node is
// on the waiter's stack, and a thread that gets the lock removes its own node.
//
// A waiter pauses, then yields, and then sleeps. It waits long before it sleeps: in this time, 64
// waiters could get the lock one after the other. A sleeper delays all later waiters by the time of
// its wake-up, so that these waiters sleep too (platform/event_count.h).
//
// Protocol. `last_` is the state of the lock: null if the lock is free, no_waiter() if the lock is
// held and the line is empty, and otherwise the last waiter of the line. A waiter joins the line by
// an exchange of `last_`. Then it stores its node (release) in the link of the thread before it;
// the owner's link is `next_`. A link may be stored late, so follower() waits for it. Only the
// owner, or the waiter that found no_waiter() in `last_`, stores `next_`.
//
// The releaser hands the lock over by an exchange of the first waiter's `state` (release), which
// that waiter loads (acquire). After this exchange the releaser uses only the node's address, not
// the node. A waiter sleeps only if it has changed its state from kWaits to kSleeps, so the
// releaser knows whether to wake it. A waiter that has become the owner takes its node out of the
// line: if it is the last node, the owner replaces it by no_waiter() (compare-and-swap, release).
//
// `next_` comes last, so that guarded fields can lie in its cache line ([[no_unique_address]]).
#pragma once

#include "platform/cpu.h"
#include "platform/park.h"
#include "platform/spin.h"

namespace logjam {

// Waiters pause kPauses times and yield kYields times before they sleep.
template <uint32_t kPauses, uint32_t kYields>
class LJ_CAPABILITY("latch") BasicQueueLock {
 public:
  bool try_lock() LJ_TRY_ACQUIRE(true) {
    Waiter* seen = last_.load(platform::memory_order_relaxed);
    return seen == nullptr &&
           last_.compare_exchange_strong(seen, no_waiter(), platform::memory_order_acquire,
                                         platform::memory_order_relaxed);
  }
  void lock() LJ_ACQUIRE() {
    if (!try_lock()) wait();
  }
  void unlock() LJ_RELEASE() {
    LJ_ASSERT_IN_TESTS(last_.load(platform::memory_order_relaxed) != nullptr);
    Waiter* next = next_.load(platform::memory_order_acquire);
    if (next == nullptr) {
      Waiter* seen = no_waiter();
      if (last_.compare_exchange_strong(seen, nullptr, platform::memory_order_release,
                                        platform::memory_order_relaxed)) {
        return;
      }
      next = follower(next_);
    }
    if (next->state.exchange(kHasLock, platform::memory_order_release) == kSleeps) {
      platform::wake_one(next->state);
    }
  }

 private:
  enum State : uint32_t { kWaits, kSleeps, kHasLock };
  struct alignas(platform::kCacheLine) Waiter {
    platform::atomic<Waiter*> next{nullptr};
    platform::atomic<uint32_t> state{kWaits};
  };

  Waiter* no_waiter() { return reinterpret_cast<Waiter*>(this); }

  // Waits until `link` has a waiter, and returns it. Not inlined: most inserts meet no waiters.
  [[gnu::noinline]] static Waiter* follower(const platform::atomic<Waiter*>& link) {
    Waiter* next;
    for (platform::SpinWait spin; (next = link.load(platform::memory_order_acquire)) == nullptr;) {
      spin.once();
    }
    return next;
  }

  [[gnu::noinline]] void wait() {
    Waiter me;
    Waiter* const before = last_.exchange(&me, platform::memory_order_acq_rel);
    if (before != nullptr) {
      auto& link = before == no_waiter() ? next_ : before->next;
      link.store(&me, platform::memory_order_release);
      await_turn(me);
    }
    Waiter* const next = me.next.load(platform::memory_order_acquire);
    next_.store(next, platform::memory_order_relaxed);
    if (next != nullptr) return;
    Waiter* seen = &me;
    if (!last_.compare_exchange_strong(seen, no_waiter(), platform::memory_order_release,
                                       platform::memory_order_relaxed)) {
      next_.store(follower(me.next), platform::memory_order_relaxed);
    }
  }

  static void await_turn(Waiter& me) {
    for (uint32_t i = 0; me.state.load(platform::memory_order_acquire) != kHasLock; ++i) {
      if (i < kPauses) {
        platform::pause();
      } else if (i < kPauses + kYields) {
        platform::yield();
      } else {
        uint32_t seen = kWaits;
        me.state.compare_exchange_strong(seen, kSleeps, platform::memory_order_relaxed);
        platform::wait_on(me.state, kSleeps);
      }
    }
  }

  alignas(platform::kCacheLine) platform::atomic<Waiter*> last_{nullptr};
  alignas(platform::kCacheLine) platform::atomic<Waiter*> next_{nullptr};
};

using QueueLock = BasicQueueLock<1024, 4096>;

}  // namespace logjam
