// The waits-for graph of 2pl-detect.
//
// A worker is a *slot*, one bit of a lock word; a holder sets its worker's bit (row_lock.h). A
// transaction that must wait stores the slots of the holders as the edges of its own slot, and
// follows the edges. If they lead back to its own slot, it aborts. Workers from the 46th on share
// the last slot, and never wait.
//
// Protocol. Only a slot's own worker stores its edges. Any worker reads them. All accesses are
// seq_cst. Consider the transactions that close a cycle together. All their stores have one order,
// and the transaction that stores last sees the edges of all the others. So at least one
// transaction finds the cycle. Holders may change while a transaction waits. A waiter therefore
// stores its edges anew, and follows them again, whenever it wakes, which is after
// RowLock::kMaxSleepNs at the latest. No cycle lasts longer than that.
//
// Two causes make a transaction abort now and then without a deadlock. Edges may be stale. A slot
// also stands for the parked transactions of its worker (--elr=false).
#pragma once

#include <array>
#include <cstdint>

#include "platform/atomic.h"

namespace logjam {

class WaitsFor {
 public:
  using Slots = uint64_t;  // a set, one bit each
  static constexpr uint32_t kSlots = 46;

  static constexpr Slots slot_of(uint32_t worker) {
    return Slots{1} << (worker < kSlots ? worker : kSlots - 1);
  }
  static constexpr bool may_wait(uint32_t worker) { return worker < kSlots - 1; }

  // Stores `slots` as the edges of `worker`, and returns whether `worker` would then wait for
  // itself. Only the thread of `worker` calls it, and only if may_wait(worker).
  bool closes_cycle(uint32_t worker, Slots slots) {
    edges_[worker]->store(slots, platform::memory_order_seq_cst);
    Slots reached = slots;
    for (Slots left = slots; left != 0;) {
      const auto slot = static_cast<uint32_t>(__builtin_ctzll(left));
      const Slots more = edges_[slot]->load(platform::memory_order_seq_cst) & ~reached;
      reached |= more;
      left = (left & (left - 1)) | more;
    }
    return (reached & slot_of(worker)) != 0;
  }

  // Removes the edges of `worker`. Only the thread of `worker` calls it.
  void stop_waiting(uint32_t worker) { edges_[worker]->store(0, platform::memory_order_seq_cst); }

  // The graph of the process. One graph suffices: a process runs one database at a time, and no
  // transaction waits for locks of two databases.
  static WaitsFor& graph() {
    static WaitsFor graph;
    return graph;
  }

 private:
  std::array<platform::Padded<platform::atomic<Slots>>, kSlots> edges_;
};

}  // namespace logjam
