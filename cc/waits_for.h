// The waits-for graph of 2pl-detect.
//
// A transaction that must wait stores the holders of the lock as the edges of its worker: the
// number of the worker that holds it exclusively, or the slots of those that share it. Then it
// follows the edges. If they lead back to its own worker, it aborts. A *slot* is one bit of a lock
// word (row_lock.h). With more workers than slots, each slot belongs to all workers whose numbers
// differ by a multiple of kSlots. The slot says that one of them holds the lock, but not which, so
// its edges lead to all of them.
//
// Protocol. Only a worker's own thread stores its edges. Any worker reads them. All accesses are
// seq_cst. Consider the transactions that close a cycle together. All their stores have one order,
// and the transaction that stores last sees the edges of all the others. So at least one
// transaction finds the cycle. Holders may change while a transaction waits. A waiter therefore
// stores its edges anew, and follows them again, whenever it wakes, at the latest after
// RowLock::kMaxSleepNs. No cycle lasts longer.
//
// Three causes make a transaction abort now and then without a deadlock. Edges may be stale. A
// worker also stands for its parked transactions (--locks=write). A slot of several workers has
// edges to workers that do not hold the lock. A transaction that waits for nobody never aborts for
// these causes, so some transaction always goes on.
#pragma once

#include <array>
#include <bit>
#include <bitset>
#include <cstdint>

#include "cc/row_lock.h"
#include "platform/atomic.h"

namespace logjam {

class WaitsFor {
 public:
  static constexpr uint32_t kWorkers = 1024;
  static constexpr uint32_t kSlots = 46;

  static constexpr uint64_t slot_of(uint32_t worker) { return uint64_t{1} << worker % kSlots; }
  // Returns whether another one of the `workers` has the slot of `worker`, too.
  static constexpr bool shares_its_slot(uint32_t worker, uint32_t workers) {
    return worker >= kSlots || worker + kSlots < workers;
  }

  // Stores the holders of a lock in state `seen` as the edges of `worker`, one of `workers`, and
  // returns whether `worker` would then wait for itself. Ignores that `worker` may be a holder of
  // this lock. Only the thread of `worker` calls it.
  bool closes_cycle(uint32_t worker, uint32_t workers, LockState seen) {
    const uint64_t edges = seen.word() & (LockState::kExclusive | LockState::kAgeMask);
    edges_[worker]->store(edges, platform::memory_order_seq_cst);
    Walk walk(workers);
    walk.reached.set(worker);
    walk.add_holders(LockState(edges));
    walk.reached.reset(worker);
    while (walk.count != 0) {
      const uint32_t next = walk.left[--walk.count];
      walk.add_holders(LockState(edges_[next]->load(platform::memory_order_seq_cst)));
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
    explicit Walk(uint32_t all) : workers(all) {}

    void add(uint32_t worker) {
      if (reached.test(worker)) return;
      reached.set(worker);
      left[count++] = static_cast<uint16_t>(worker);
    }
    void add_holders(LockState lock) {
      if (lock.exclusive()) {
        if (lock.writer() != 0) add(static_cast<uint32_t>(lock.writer() - 1));
        return;
      }
      for (uint64_t slots = lock.slots(); slots != 0; slots &= slots - 1) {
        const auto slot = static_cast<uint32_t>(std::countr_zero(slots));
        add(slot);
        for (uint32_t worker = slot + kSlots; worker < workers; worker += kSlots) add(worker);
      }
    }

    uint32_t workers;
    std::bitset<kWorkers> reached;
    std::array<uint16_t, kWorkers> left;  // reached, and their edges not yet followed
    uint32_t count = 0;
  };

  std::array<platform::Padded<platform::atomic<uint64_t>>, kWorkers> edges_;
};

}  // namespace logjam
