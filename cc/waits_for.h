// The waits-for graph of 2pl-detect.
//
// A worker announces each lock that its transaction gets. A transaction that must wait announces
// the lock that it waits for, as the edge of its worker. Then it follows the edges, from a lock to
// the waiting workers that have announced this lock as held. If the edges lead back to its own
// worker, the transaction aborts.
//
// Protocol. Only a worker's own thread stores its edge, its list of locks and the length of the
// list. Any worker reads them. Accesses to edges are seq_cst, accesses to lists are relaxed. A walk
// looks only at workers whose numbers are below a bound. A worker that waits for the first time
// raises this bound (seq_cst) before it stores its edge. A worker adds a lock to its list after it
// has got the lock, and before it stores an edge. So a worker that sees the edge sees the list.
// Consider the transactions that close a cycle together. None of them gives a lock back before one
// of them aborts. The stores of their edges have one order. The transaction whose store is the last
// sees the edges, and hence the lists, of all the others. So at least one transaction finds the
// cycle.
//
// If a worker held the lock exclusively, the edge also names that worker, so that most walks look
// at few workers. Later the lock may get another holder. Therefore a waiter stores its edge again,
// and follows the edges again, whenever it wakes. It wakes at the latest after
// RowLock::kMaxSleepNs, so no cycle lasts longer than this time.
//
// A worker stands for the transaction that it executes. Its list does not contain the locks of its
// parked transactions (--locks=write), because those transactions become durable without any other
// lock. A worker with more than kMostLocks locks counts as a holder of every lock. For this reason,
// and because a walk does not see all edges and lists at the same moment, a transaction sometimes
// aborts without a deadlock. A transaction that waits for no other transaction never aborts for
// these reasons, so some transaction always makes progress.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>

#include "cc/row_lock.h"
#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/most_workers.h"
#include "platform/thread_annotations.h"

namespace logjam {

class WaitsFor {
 public:
  static constexpr uint32_t kWorkers = platform::kMostWorkers;
  static constexpr uint32_t kMostLocks = 128;

  void add_held(uint32_t worker, const RowLock::Word& lock) LJ_REQUIRES(platform::worker_role) {
    LJ_ASSERT_IN_TESTS(worker < kWorkers);
    Announced& own = *workers_[worker];
    const uint32_t at = own.count.load(platform::memory_order_relaxed);
    if (at > kMostLocks) return;
    if (at < kMostLocks) own.locks[at].store(address_of(lock), platform::memory_order_relaxed);
    own.count.store(at + 1, platform::memory_order_relaxed);
  }
  void hold_nothing(uint32_t worker) LJ_REQUIRES(platform::worker_role) {
    workers_[worker]->count.store(0, platform::memory_order_relaxed);
  }

  // Announces that `worker` waits for a lock that was in state `seen`. Returns whether `worker`
  // would then wait for itself. Ignores that `worker` may be a holder of this lock.
  bool closes_cycle(uint32_t worker, const RowLock::Word& lock, LockState seen)
      LJ_REQUIRES(platform::worker_role) {
    LJ_ASSERT(worker < kWorkers && address_of(lock) <= kAddressMask);
    raise_bound(worker);
    const uint64_t edge = address_of(lock) | (seen.exclusive() ? seen.writer() << kWriterShift : 0);
    workers_[worker]->edge.store(edge, platform::memory_order_seq_cst);
    Walk walk;
    walk.reached.set(worker);
    add_holders(edge, &walk);
    walk.reached.reset(worker);
    while (walk.count != 0) {
      const uint32_t next = walk.left[--walk.count];
      add_holders(workers_[next]->edge.load(platform::memory_order_seq_cst), &walk);
      if (walk.reached.test(worker)) return true;
    }
    return false;
  }

  void stop_waiting(uint32_t worker) LJ_REQUIRES(platform::worker_role) {
    workers_[worker]->edge.store(0, platform::memory_order_seq_cst);
  }

  // Returns the only graph: a process runs one database at a time.
  static WaitsFor& graph() {
    static WaitsFor graph;
    return graph;
  }

 private:
  // An edge: a lock's address in the low bits, and above it the exclusive holder's number plus 1.
  static constexpr int kWriterShift = 48;
  static constexpr uint64_t kAddressMask = (uint64_t{1} << kWriterShift) - 1;
  static_assert(kWorkers < uint64_t{1} << (64 - kWriterShift));

  struct Announced {
    platform::atomic<uint64_t> edge{0};
    platform::atomic<uint32_t> count{0};  // elements of `locks`; kMostLocks + 1: too many locks
    std::array<platform::atomic<uint64_t>, kMostLocks> locks{};
  };

  struct Walk {
    std::bitset<kWorkers> reached;
    std::array<uint16_t, kWorkers> left;  // reached workers whose edges are still to be followed
    static_assert(kWorkers <= UINT16_MAX);
    uint32_t count = 0;
  };

  void raise_bound(uint32_t worker) {
    uint32_t bound = bound_->load(platform::memory_order_acquire);
    while (bound <= worker && !bound_->compare_exchange_weak(bound, worker + 1)) {
    }
  }
  static uint64_t address_of(const RowLock::Word& lock) {
    return reinterpret_cast<uintptr_t>(&lock);
  }

  bool holds(const Announced& worker, uint64_t lock) const {
    const uint32_t count = worker.count.load(platform::memory_order_relaxed);
    if (count > kMostLocks) return true;
    for (uint32_t i = 0; i < count; ++i) {
      if (worker.locks[i].load(platform::memory_order_relaxed) == lock) return true;
    }
    return false;
  }
  // Adds the waiting holders of the edge's lock. If the edge names a worker, adds no other worker.
  void add_holders(uint64_t edge, Walk* walk) const {
    if (edge == 0) return;
    const uint64_t writer = edge >> kWriterShift;
    if (writer != 0)
      return add_holder(static_cast<uint32_t>(writer - 1), edge & kAddressMask, walk);
    const uint32_t bound = bound_->load(platform::memory_order_seq_cst);
    for (uint32_t worker = 0; worker < bound; ++worker) add_holder(worker, edge, walk);
  }
  void add_holder(uint32_t worker, uint64_t lock, Walk* walk) const {
    const Announced& holder = *workers_[worker];
    if (walk->reached.test(worker)) return;
    if (holder.edge.load(platform::memory_order_seq_cst) == 0 || !holds(holder, lock)) return;
    walk->reached.set(worker);
    LJ_ASSERT(walk->count < kWorkers);
    walk->left[walk->count++] = static_cast<uint16_t>(worker);
  }

  std::array<platform::Padded<Announced>, kWorkers> workers_;
  platform::Padded<platform::atomic<uint32_t>> bound_{0};  // walks look at numbers below it
};

}  // namespace logjam
