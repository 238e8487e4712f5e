// The last writer of each cell, in the memory of a running process. From it a transaction that
// overwrites a cell without reading it learns whose write it overwrites.
//
// Protocol. A worker calls overwrite() at the serialization point of its transaction, with the cell
// locked (CommitObserver). So the calls for a cell come in the order in which its writers overwrite
// each other, whatever the memory order of the exchange. The other functions may be called at any
// time, and their results are only hints.
#pragma once

#include <cstdint>
#include <vector>

#include "platform/atomic.h"
#include "proof/ledger/rows.h"

namespace logjam::ledger {

class CellOrder {
 public:
  explicit CellOrder(uint64_t cells) : last_(cells), present_(cells) {
    for (uint64_t cell = 0; cell < cells; ++cell) set_present(cell, cell % 2 == 0);
  }

  // Sets the last writer of `cell` to `writer`, as recovered. Called before any worker runs.
  void resume(uint64_t cell, TransactionId writer, bool present) {
    last_[cell].store(writer, platform::memory_order_relaxed);
    set_present(cell, present);
  }

  // Records that `writer` overwrites `cell` and leaves its slot present or absent. Returns the
  // writer that is overwritten; 0: the initial load.
  TransactionId overwrite(uint64_t cell, TransactionId writer, bool present) {
    set_present(cell, present);
    changes_.fetch_add(1, platform::memory_order_relaxed);
    return last_[cell].exchange(writer, platform::memory_order_acq_rel);
  }
  TransactionId last(uint64_t cell) const {
    return last_[cell].load(platform::memory_order_relaxed);
  }
  bool looks_present(uint64_t cell) const {
    return present_[cell].load(platform::memory_order_relaxed) != 0;
  }
  // Returns the number of the slot that is hot now, modulo the number of slots. It grows slowly, so
  // a slot is left alone until its tuple is reclaimed, and then many workers use it at once.
  uint64_t hot() const {
    constexpr uint64_t kChanges = 16;
    return changes_.load(platform::memory_order_relaxed) / kChanges;
  }

 private:
  void set_present(uint64_t cell, bool present) {
    present_[cell].store(present ? 1 : 0, platform::memory_order_relaxed);
  }

  std::vector<platform::atomic<TransactionId>> last_;
  std::vector<platform::atomic<uint8_t>> present_;
  platform::atomic<uint64_t> changes_{0};
};

}  // namespace logjam::ledger
