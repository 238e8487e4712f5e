// An LSN sequencer that remembers where each worker's unfilled hole begins. The log is filled
// exactly up to the first of these holes: no record waits for a later hole. A thread that needs
// this position looks at the holes of all workers.
//
// Protocol. A thread that looks loads `next_` first, and then looks at the holes. If this value of
// `next_` counts a hole, the hole is announced (announced_number.h): its worker drew the position
// by a fetch-add, from which the load acquires.
#pragma once

#include <vector>

#include "logging/schemes/common/announced_number.h"
#include "platform/spin.h"

namespace logjam {

class OpenHoles {
 public:
  // Makes announced bounds stale for a while if `force_stale`, for tests.
  explicit OpenHoles(uint32_t workers, bool force_stale = false)
      : force_stale_(force_stale), holes_(workers) {}

  // Reserves a hole of `bytes`, which begins at `number`. If `others_may_wait`, the caller must
  // look() again, after a fence. Only worker `worker` calls reserve() and filled().
  AnnouncedNumber::Announced reserve(uint32_t worker, uint64_t bytes) {
    AnnouncedNumber& hole = *holes_[worker];
    // The device failed, so the worker's last hole was never filled. It stays the announced hole.
    if (hole.look() != AnnouncedNumber::kNone) return {add(bytes), false};
    return hole.announce(force_stale_ ? 0 : next_.load(platform::memory_order_relaxed), [&] {
      if (force_stale_) platform::yield();
      return add(bytes);
    });
  }
  void filled(uint32_t worker) { holes_[worker]->withdraw(); }

  // Returns the position up to which the log is filled. Any thread may call look() and reserved().
  uint64_t look() const {
    uint64_t first = reserved();
    for (const auto& hole : holes_) first = std::min(first, hole->look());
    return first;
  }
  uint64_t reserved() const { return next_.load(platform::memory_order_acquire); }

 private:
  uint64_t add(uint64_t bytes) { return next_.fetch_add(bytes, platform::memory_order_acq_rel); }

  const bool force_stale_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> next_{0};
  std::vector<platform::Padded<AnnouncedNumber>> holes_;
};

}  // namespace logjam
