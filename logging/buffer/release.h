// How buffer regions, filled in any order, are released in the order of their LSNs: `filled` only
// passes a region that is filled, after all before it. Two of three ways; the third, delegated, is
// release_queue.h. They answer the same calls, for schemes/aether.h to be built with:
//
//   kDecoupled       whether the log's lock is free while a region is filled
//   join             under the log's lock, in LSN order
//   release          by whoever filled the region's last byte
//   after_published  behind the full fence of Stream::published(): wakes those that sleep here
#pragma once

#include <cstdint>

#include "logging/buffer/gate.h"
#include "platform/atomic.h"

namespace logjam {

// What one thread acquired of the buffer, for itself or for a group.
struct Region {
  uint64_t begin = 0, end = 0;
  uint64_t node = 0;  // its place in the release queue, if there is one
};

// The log's lock is held from acquire to release, so regions are released in order anyway.
// Protocol: `filled_` is stored (release) under that lock, loaded (acquire) by flushers.
class ReleaseUnderLock {
 public:
  static constexpr bool kDecoupled = false;

  uint64_t filled() const { return filled_.load(platform::memory_order_acquire); }
  uint64_t join(uint64_t) { return 0; }
  bool release(const Region& region, uint64_t) {
    filled_.store(region.end, platform::memory_order_release);
    return true;
  }
  void after_published() {}

 private:
  alignas(platform::kCacheLine) platform::atomic<uint64_t> filled_{0};
};

// Aether, Alg. 3: wait until all before it is released (next_release_lsn is `filled_` here).
// Protocol: only the owner of the region that begins at `filled_` stores it (release): as the fill
// happens before, so does, by the chain of acquire loads, every earlier one.
class ReleaseInOrder {
 public:
  static constexpr bool kDecoupled = true;

  uint64_t filled() const { return filled_.load(platform::memory_order_acquire); }
  uint64_t join(uint64_t) { return 0; }
  bool release(const Region& region, uint64_t) {
    turn_.wait([&] { return filled() == region.begin; });
    filled_.store(region.end, platform::memory_order_release);
    return true;
  }
  void after_published() { turn_.notify_behind_fence(); }

 private:
  alignas(platform::kCacheLine) platform::atomic<uint64_t> filled_{0};
  Gate turn_;
};

}  // namespace logjam
