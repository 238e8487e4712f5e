// Who waits for whom, under 2pl-detect.
//
// A worker is a *slot*, one bit of a lock's word: holders set theirs (row_lock.h). A transaction
// that must wait puts the slots it waits for under its own, and looks whether they lead back to it;
// if so, it aborts. Workers from the 46th on share the last slot, and never wait.
//
// Protocol. A slot's edges are stored by its worker only, and read by all, seq_cst. Of the
// transactions that close a cycle together, the last to store its edges, in the one order of all
// such stores, sees those of the others: at least one finds the cycle. Holders change while one
// waits; a waiter states its edges anew, and looks again, whenever it wakes, which is after
// RowLock::kMaxSleepNs at the latest: no cycle lasts longer. Edges may be stale, and a slot also
// stands for what its worker has parked (--elr=false): now and then a transaction aborts that would
// not have had to.
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

  // Whether `worker`, which may wait, would wait for itself if it waited for `slots`.
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

  void ends(uint32_t worker) { edges_[worker]->store(0, platform::memory_order_seq_cst); }

  // One graph for all: the locks of two databases are never waited for together, and a process runs
  // one at a time.
  static WaitsFor& graph() {
    static WaitsFor graph;
    return graph;
  }

 private:
  std::array<platform::Padded<platform::atomic<Slots>>, kSlots> edges_;
};

}  // namespace logjam
