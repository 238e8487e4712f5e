// The latch in an index node's structure word (protocol: index.h). Any worker may call these
// functions.
#pragma once

#include <cstdint>

#include "engine/storage/index.h"
#include "platform/spin.h"

namespace logjam {

// Waits for the latch and takes it. Returns the structure word from before, without the latch bit.
// The order is seq_cst, because an insert's gate then loads the node's lock (proof in
// cc/two_phase_locking.cc).
inline uint64_t latch(IndexNode& node) {
  platform::BackOff wait;
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

// Releases the latch of a node that has not changed; `before` is what latch() returned.
inline void unlatch_unchanged(IndexNode& node, uint64_t before) {
  node.structure.store(before, platform::memory_order_release);
}

// Releases the latch of a node that has changed. Returns the new structure word.
inline uint64_t unlatch_changed(IndexNode& node, uint64_t before) {
  const uint64_t after = before + 2;
  node.structure.store(after, platform::memory_order_release);
  return after;
}

// Begins an optimistic read: waits until the node is unlatched, and returns its structure word.
inline uint64_t begin_reading(const IndexNode& node) {
  platform::SpinWait wait;
  for (;;) {
    const uint64_t word = node.structure.load(platform::memory_order_acquire);
    if ((word & IndexNode::kLatched) == 0) return word;
    wait.once();
  }
}

// Returns whether the node has not changed since begin_reading() returned `seen`. Every field in
// between must be loaded with acquire. That orders this load after them without a fence, costs
// nothing on x86, and is an ordering that ThreadSanitizer models.
inline bool unchanged_since(const IndexNode& node, uint64_t seen) {
  return node.structure.load(platform::memory_order_relaxed) == seen;
}

}  // namespace logjam
