// The latch in an index node's structure word (protocol: index.h).
#pragma once

#include <cstdint>

#include "engine/storage/index.h"
#include "platform/spin.h"

namespace logjam {

// Returns the structure word the node had, without the latch bit. seq_cst: an insert's gate loads
// the node's lock behind it (the argument is in cc/two_phase_locking.cc).
inline uint64_t latch(IndexNode& node) {
  platform::SpinWait wait;
  for (;;) {
    uint64_t word = node.structure.load(platform::memory_order_relaxed);
    if ((word & IndexNode::kLatched) == 0 &&
        node.structure.compare_exchange_weak(word, word | IndexNode::kLatched,
                                             platform::memory_order_seq_cst,
                                             platform::memory_order_relaxed)) {
      return word;
    }
    wait.once();
  }
}

inline void unlatch_unchanged(IndexNode& node, uint64_t before) {
  node.structure.store(before, platform::memory_order_release);
}

// Returns the new structure word.
inline uint64_t unlatch_changed(IndexNode& node, uint64_t before) {
  const uint64_t after = before + 2;
  node.structure.store(after, platform::memory_order_release);
  return after;
}

// Begins an optimistic reading: the structure word, once it is unlatched.
inline uint64_t begin_reading(const IndexNode& node) {
  platform::SpinWait wait;
  for (;;) {
    const uint64_t word = node.structure.load(platform::memory_order_acquire);
    if ((word & IndexNode::kLatched) == 0) return word;
    wait.once();
  }
}

// True if nothing changed since begin_reading(). Every field in between must have been loaded with
// acquire: that keeps this load behind them without a fence, costs nothing on x86, and is an
// ordering ThreadSanitizer models.
inline bool still(const IndexNode& node, uint64_t seen) {
  return node.structure.load(platform::memory_order_relaxed) == seen;
}

}  // namespace logjam
