// The largest sequence number of those that read a tuple, for schemes whose numbers grow along
// write-after-read (NVM-D's GSN, which "tracks all dependencies").
//
// Not in the tuple's version: that is its last *writer's* number. Raised by a reader it would fail
// the validation of every other reader, and name a writer that never was. A word more for each
// tuple would be paid for by all schemes. So stamps lie in a table of their own, found by the hash
// of the tuple's address. Tuples that share a slot get numbers larger than they need: no harm.
//
// Protocol. A reader draws its number, raises the stamps, and only then validates (OCC) or releases
// its locks (2PL). A writer locks the tuple, loads the stamp, and then draws. All seq_cst: so
// either OCC's reader sees the lock, and aborts, or the writer sees the stamp. A stamp that is
// large enough already is only loaded: what the writer loads later is not smaller (coherence).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "platform/atomic.h"

namespace logjam {

class ReadStamps {
 public:
  ReadStamps() : stamps_(size_t{1} << kSlotBits) {}

  void raise(const void* tuple, uint64_t sequence) {
    platform::atomic<uint64_t>& stamp = stamps_[slot(tuple)];
    uint64_t known = stamp.load(platform::memory_order_seq_cst);
    while (known < sequence && !stamp.compare_exchange_weak(known, sequence)) {
    }
  }
  uint64_t of(const void* tuple) const {
    return stamps_[slot(tuple)].load(platform::memory_order_seq_cst);
  }

 private:
  static constexpr int kSlotBits = 16;

  static size_t slot(const void* tuple) {
    return reinterpret_cast<uintptr_t>(tuple) * 0x9e3779b97f4a7c15 >> (64 - kSlotBits);
  }

  std::vector<platform::atomic<uint64_t>> stamps_;
};

}  // namespace logjam
