// The waits-for graph of 2pl-detect.
//
// A transaction that must wait stores the holders of the lock as the edges of its worker: the
// number of the worker that holds it exclusively, or the slots of those that share it. Then it
// follows the edges. If they lead back to its own worker, it aborts. A *slot* is one bit of a lock
// word (row_lock.h). Each of the first 45 workers has a slot of its own. All later workers share
// the last slot. It says that some of them hold the lock, but not which, so it has no edges to
// follow.
//
// Protocol. Only a worker's own thread stores its edges. Any worker reads them. All accesses are
// seq_cst. Consider the transactions that close a cycle together. All their stores have one order,
// and the transaction that stores last sees the edges of all the others. So at least one
// transaction finds the cycle, unless the cycle runs through the shared last slot. A transaction
// that waits for such a lock (holders_unknown()) gives up after a while (two_phase_locking.cc).
// Holders may change while a transaction waits. A waiter therefore stores its edges anew, and
// follows them again, whenever it wakes, at the latest after RowLock::kMaxSleepNs. No other cycle
// lasts longer.
//
// Two causes make a transaction abort now and then without a deadlock. Edges may be stale. A worker
// also stands for its parked transactions (--locks=write).
#pragma once

#include <array>
#include <bitset>
#include <cstdint>

#include "cc/row_lock.h"
#include "platform/atomic.h"

namespace logjam {

class WaitsFor {
 public:
  static constexpr uint32_t kWorkers = 1024;
  static constexpr uint32_t kSlots = 46;

  static constexpr uint64_t slot_of(uint32_t worker) {
    return uint64_t{1} << (worker < kSlots ? worker : kSlots - 1);
  }
  static constexpr bool shares_its_slot(uint32_t worker) { return worker >= kSlots - 1; }

  // Returns whether some of the holders are not known.
  static bool holders_unknown(LockState seen) {
    return !seen.exclusive() && (seen.slots() & slot_of(kWorkers)) != 0;
  }

  // Stores the holders of a lock in state `seen` as the edges of `worker`, and returns whether
  // `worker` would then wait for itself. Ignores that `worker` may be a holder of this lock. Only
  // the thread of `worker` calls it.
  bool closes_cycle(uint32_t worker, LockState seen) {
    const uint64_t edges = seen.word() & (LockState::kExclusive | LockState::kAgeMask);
    edges_[worker]->store(edges, platform::memory_order_seq_cst);
    Walk walk;
    walk.reached.set(worker);
    add_holders(LockState(edges), &walk);
    walk.reached.reset(worker);
    while (walk.count != 0) {
      const uint32_t next = walk.left[--walk.count];
      add_holders(LockState(edges_[next]->load(platform::memory_order_seq_cst)), &walk);
      if (walk.reached.test(worker)) return true;
    }
    return false;
  }

  // Removes the edges of `worker`. Only the thread of `worker` calls it.
  void stop_waiting(uint32_t worker) { edges_[worker]->store(0, platform::memory_order_seq_cst); }

  // Returns the graph of the process. One graph suffices: a process runs one database at a time,
  // and no transaction waits for locks of two databases.
  static WaitsFor& graph() {
    static WaitsFor graph;
    return graph;
  }

 private:
  struct Walk {
    std::bitset<kWorkers> reached;
    std::array<uint16_t, kWorkers> left;  // reached, and their edges not yet followed
    uint32_t count = 0;

    void add(uint32_t worker) {
      if (reached.test(worker)) return;
      reached.set(worker);
      left[count++] = static_cast<uint16_t>(worker);
    }
  };

  void add_holders(LockState lock, Walk* walk) const {
    if (lock.exclusive()) {
      if (lock.writer() != 0) walk->add(static_cast<uint32_t>(lock.writer() - 1));
      return;
    }
    for (uint64_t slots = lock.slots() & ~slot_of(kWorkers); slots != 0; slots &= slots - 1) {
      walk->add(static_cast<uint32_t>(__builtin_ctzll(slots)));
    }
  }

  std::array<platform::Padded<platform::atomic<uint64_t>>, kWorkers> edges_;
};

}  // namespace logjam
