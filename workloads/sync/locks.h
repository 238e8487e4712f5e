// The locks that the synchronization benchmark compares, each as its authors describe it: a
// test-and-set lock; a ticket lock, with and without back-off; and the queue locks MCS
// (Mellor-Crummey and Scott, TOCS 1991) and CLH (Craig 1993; Magnusson, Landin and Hagersten, IPPS
// 1994). David et al. (SOSP 2013) describe the same locks in sections 4.1 and 5.3.
//
// A thread makes one Handle, uses it for all locks of one type, and holds at most one of these
// locks at a time. A thread passes the same Handle to lock() and to the following unlock().
//
// Protocol. The writes of a thread before unlock() are visible after the next lock(), because
// unlock() releases and lock() acquires the same word:
// - TasLock: `held_`. Any thread sets it (exchange, acquire); the holder clears it (release).
// - TicketLock: `current_`. Only the holder writes it, so the holder reads its own last value
//   (relaxed) and stores the next value (release). All waiting threads read it (acquire). `next_`
//   only gives out numbers, and publishes nothing (relaxed).
// - McsLock: a waiting thread's own `waits`. The thread sets it (relaxed) before it announces its
//   node in the predecessor's `next` (release, which the predecessor acquires). So the predecessor
//   sees `waits` set before it clears `waits` (release). `tail_` passes from a holder without a
//   successor to the next thread by compare-and-swap (release) and exchange (acquire). The exchange
//   also releases, so a thread that takes a node's address from `tail_` sees the node's fields.
// - ClhLock: `held` of the predecessor's node. The node's owner sets `held` (relaxed) before it
//   puts the node into `tail_` by exchange, which releases, and acquires the previous node. The
//   owner clears `held` (release). From then on only the successor can reach the node, and owns it.
#pragma once

#include <memory>

#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/cpu.h"
#include "platform/persist.h"
#include "platform/spin.h"
#include "platform/thread_annotations.h"

namespace logjam::sync {

using platform::memory_order_acq_rel;
using platform::memory_order_acquire;
using platform::memory_order_relaxed;
using platform::memory_order_release;

// One wait of a thread for another thread. If each thread has a core of its own, the thread only
// pauses, as in David et al. Otherwise (`crowded`) the thread yields its core, because the other
// thread may need this core.
class Wait {
 public:
  explicit Wait(bool crowded) : crowded_(crowded) {}
  void once() { crowded_ ? spin_.once() : platform::pause(); }
  void ticks(uint64_t ticks) { crowded_ ? spin_.once() : platform::spin_ticks(ticks); }

 private:
  const bool crowded_;
  platform::SpinWait spin_;
};

class LJ_CAPABILITY("lock") TasLock {
 public:
  struct Handle {};

  void lock(Handle&, Wait wait) LJ_ACQUIRE() {
    while (held_.exchange(true, memory_order_acquire)) wait.once();
  }
  void unlock(Handle&) LJ_RELEASE() {
    LJ_ASSERT_IN_TESTS(held_.load(memory_order_relaxed));
    held_.store(false, memory_order_release);
  }

 private:
  platform::atomic<bool> held_{false};
};

template <bool kBackOff>
class LJ_CAPABILITY("lock") TicketLock {
 public:
  struct Handle {};

  void lock(Handle&, Wait wait) LJ_ACQUIRE() {
    const uint32_t mine = next_.fetch_add(1, memory_order_relaxed);
    while (true) {
      const uint32_t ahead = mine - current_.load(memory_order_acquire);
      if (ahead == 0) return;
      // Waits in proportion to the number of threads that are ahead (David et al., 5.3).
      if constexpr (kBackOff) {
        wait.ticks(ahead == 1 ? kNextTicks : ahead * kTicks);
      } else {
        wait.once();
      }
    }
  }
  void unlock(Handle&) LJ_RELEASE() {
    LJ_ASSERT_IN_TESTS(current_.load(memory_order_relaxed) != next_.load(memory_order_relaxed));
    current_.store(current_.load(memory_order_relaxed) + 1, memory_order_release);
  }

 private:
  // The waiting times, in ticks, of David et al. in libslock, include/ticket.h.
  static constexpr uint64_t kTicks = 512, kNextTicks = 128;
  platform::atomic<uint32_t> next_{0}, current_{0};  // in one cache line
};

class LJ_CAPABILITY("lock") McsLock {
 public:
  struct alignas(platform::kCacheLine) Handle {
    platform::atomic<Handle*> next{nullptr};
    platform::atomic<bool> waits{false};
  };

  void lock(Handle& mine, Wait wait) LJ_ACQUIRE() {
    mine.next.store(nullptr, memory_order_relaxed);
    mine.waits.store(true, memory_order_relaxed);
    Handle* const before = tail_.exchange(&mine, memory_order_acq_rel);
    if (before == nullptr) return;
    before->next.store(&mine, memory_order_release);
    while (mine.waits.load(memory_order_acquire)) wait.once();
  }
  void unlock(Handle& mine) LJ_RELEASE() {
    LJ_ASSERT_IN_TESTS(tail_.load(memory_order_relaxed) != nullptr);
    Handle* next = mine.next.load(memory_order_acquire);
    if (next == nullptr) {
      Handle* last = &mine;
      if (tail_.compare_exchange_strong(last, nullptr, memory_order_release,
                                        memory_order_relaxed)) {
        return;
      }
      // The next thread has executed its exchange, but has not announced its node in `next` yet.
      platform::SpinWait wait;
      while ((next = mine.next.load(memory_order_acquire)) == nullptr) wait.once();
    }
    next->waits.store(false, memory_order_release);
  }

 private:
  platform::atomic<Handle*> tail_{nullptr};
};

class LJ_CAPABILITY("lock") ClhLock {
  struct alignas(platform::kCacheLine) Node {
    platform::atomic<bool> held{false};
  };

 public:
  // A thread enters the queue with its Handle's node, and afterwards keeps its predecessor's node.
  // So while no thread holds or awaits a lock, each lock and each Handle owns one node.
  class Handle {
    friend ClhLock;
    std::unique_ptr<Node> mine_ = std::make_unique<Node>();
    Node* before_ = nullptr;
  };

  ClhLock() : tail_(new Node) {}
  ~ClhLock() { delete tail_.load(memory_order_acquire); }
  ClhLock(const ClhLock&) = delete;
  ClhLock& operator=(const ClhLock&) = delete;

  void lock(Handle& handle, Wait wait) LJ_ACQUIRE() {
    handle.mine_->held.store(true, memory_order_relaxed);
    handle.before_ = tail_.exchange(handle.mine_.get(), memory_order_acq_rel);
    while (handle.before_->held.load(memory_order_acquire)) wait.once();
  }
  void unlock(Handle& handle) LJ_RELEASE() {
    LJ_ASSERT_IN_TESTS(handle.before_ != nullptr && handle.mine_.get() != handle.before_);
    Node* const queued = handle.mine_.release();
    handle.mine_.reset(handle.before_);
    queued->held.store(false, memory_order_release);
  }

 private:
  platform::atomic<Node*> tail_;
};

}  // namespace logjam::sync
