// The read stamp of a tuple: the largest sequence number of the transactions that have read it.
// Stamps are for schemes whose numbers grow along write-after-read (NVM-D's GSN).
//
// The stamp is not in the tuple's version, because the version is the number of the tuple's last
// *writer*. If a reader raised the version, every other reader would fail its validation, and the
// version would name a writer that never existed. One more word in each tuple would cost all
// schemes memory. So stamps lie in a separate table, at the hash of the tuple's address. Tuples
// that share a slot get numbers larger than they need, which does no harm.
//
// Protocol. A reader draws its number, raises the stamps, and only then validates (OCC) or releases
// its locks (2PL). A writer locks the tuple, loads the stamp, and then draws its number. All these
// accesses are seq_cst. So either the reader (under OCC) sees the lock and aborts, or the writer
// sees the stamp. If the stamp is large enough, a reader only loads it: a later load by a writer
// returns no smaller number (coherence). Any thread may call the functions.
#pragma once

#include <vector>

#include "platform/atomic.h"

namespace logjam {

class ReadStamps {
 public:
  explicit ReadStamps(int slot_bits = 16)
      : stamps_(size_t{1} << slot_bits), shift_(64 - slot_bits) {}

  void raise(const void* tuple, uint64_t sequence) {
    platform::atomic_max(stamps_[slot(tuple)], sequence, platform::memory_order_seq_cst);
  }
  // Returns the stamp of `tuple`, or a larger number.
  uint64_t of(const void* tuple) const {
    return stamps_[slot(tuple)].load(platform::memory_order_seq_cst);
  }

 private:
  size_t slot(const void* tuple) const {
    return reinterpret_cast<uintptr_t>(tuple) * 0x9e3779b97f4a7c15 >> shift_;
  }

  std::vector<platform::atomic<uint64_t>> stamps_;
  const int shift_;
};

}  // namespace logjam
