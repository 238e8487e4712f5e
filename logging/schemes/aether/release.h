// The release of buffer regions in the order of their LSNs, although they are filled in any order:
// `filled` passes a region only when that region and all regions before it are filled. This file
// has two ways to release, and release_queue.h the third. All have this interface:
//
//   kDecoupled     true if the log's lock is free while a region is filled
//   join           called under the log's lock, in LSN order, with the end of the new region
//   release        called after the fill; returns false if another thread will release the region
//   after_publish  wakes sleeping threads; called after the full fence of Stream::on_publish()
//   filled         the position up to which all regions are released; any thread may call it
#pragma once

#include <string_view>

#include "platform/event_count.h"

namespace logjam {

struct Region {
  uint64_t begin = 0, end = 0;
  uint64_t node = 0;  // the number of the region's node in the release queue, if there is a queue
};

// Releases under the log's lock, which is held from acquire to release. Protocol. `filled_` is
// stored (release) under the lock, and loaded (acquire) by flushers.
class ReleaseUnderLock {
 public:
  static constexpr bool kDecoupled = false;

  uint64_t filled() const { return filled_.load(platform::memory_order_acquire); }
  uint64_t join(uint64_t) { return 0; }
  bool release(const Region& region, uint64_t) {
    LJ_ASSERT(region.begin == filled_.load(platform::memory_order_relaxed));
    filled_.store(region.end, platform::memory_order_release);
    return true;
  }
  void after_publish() {}

 private:
  alignas(platform::kCacheLine) platform::atomic<uint64_t> filled_{0};
};

// Makes the owner of a region wait until all regions before it are released (Aether, Alg. 3; its
// next_release_lsn is `filled_` here). Protocol. Only the owner of the region that begins at
// `filled_` stores `filled_` (release), after its fill. It has loaded (acquire) the previous
// owner's value, so all earlier fills happened before.
//
// The further away an owner's turn is, the longer the owner pauses between two loads of `filled_`
// (like a waiter at a ticket lock: Mellor-Crummey and Scott 1991). Otherwise each turn would cost a
// transfer of the cache line to each owner. An owner estimates the turns before its own by the
// bytes before its region, divided by the region's size.
class ReleaseInOrder {
 public:
  static constexpr bool kDecoupled = true;
  static constexpr std::string_view kOversubscribed =
      "workers release their records in turn and the worker whose turn it is may wait for a core";

  uint64_t filled() const { return filled_.load(platform::memory_order_acquire); }
  uint64_t join(uint64_t) { return 0; }
  bool release(const Region& region, uint64_t) {
    if (filled() != region.begin) wait_for_turn(region);
    filled_.store(region.end, platform::memory_order_release);
    return true;
  }
  void after_publish() { turn_.notify_after_fence(); }

 private:
  static constexpr uint64_t kPausesATurn = 2, kMostTurns = 256;
  static constexpr uint32_t kRoundsBeforeSleep = 64;

  void wait_for_turn(const Region& region) {
    uint64_t seen = region.end;
    platform::SpinWait spin;
    for (uint64_t now; (now = filled()) != region.begin; seen = now) {
      if (now != seen) {
        spin = {};
        const uint64_t turns = (region.begin - now) / (region.end - region.begin);
        for (uint64_t i = std::min(turns, kMostTurns) * kPausesATurn; i != 0; --i) {
          platform::pause();
        }
      } else if (spin.rounds() < kRoundsBeforeSleep) {
        spin.once();
      } else {
        turn_.await([&] { return filled() != seen; });
      }
    }
  }

  alignas(platform::kCacheLine) platform::atomic<uint64_t> filled_{0};
  alignas(platform::kCacheLine) platform::EventCount turn_;
};

}  // namespace logjam
