// An LSN sequencer that remembers where each worker's unfilled hole begins. The log is filled
// exactly up to the first of these holes: no record waits for a later hole, however long the worker
// of that hole takes. No thread owns the watermark: a thread that needs it looks at the holes of
// all workers.
//
// Protocol. Workers add to `next_`, and a thread that looks for the watermark loads it, and only
// then looks at the holes. A hole that this value of `next_` counts is announced
// (announced_number.h): its worker drew the position by a fetch-add, from which the load acquires.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "logging/schemes/common/announced_number.h"
#include "platform/atomic.h"
#include "platform/spin.h"

namespace logjam {

class OpenHoles {
 public:
  // Makes a sequencer. With `force_stale`, which is for tests, every bound is stale for a while.
  explicit OpenHoles(uint32_t workers, bool force_stale = false)
      : force_stale_(force_stale), holes_(workers) {}

  // Reserves a hole of `bytes`; its `number` is the position at which it begins. If others may
  // wait, the caller must look() again, after a fence. Called by worker `worker`.
  AnnouncedNumber::Announced reserve(uint32_t worker, uint64_t bytes) {
    AnnouncedNumber& hole = *holes_[worker];
    // The worker could not fill its last hole, because the device failed: that hole stays.
    if (hole.look() != AnnouncedNumber::kNone) return {add(bytes), false};
    return hole.announce(force_stale_ ? 0 : next_.load(platform::memory_order_relaxed), [&] {
      if (force_stale_) platform::yield();
      return add(bytes);
    });
  }
  // Removes the worker's hole, which is filled. Called by worker `worker`.
  void filled(uint32_t worker) { holes_[worker]->withdraw(); }

  // Returns the position up to which all holes are filled. Any thread may call it.
  uint64_t look() const {
    uint64_t first = reserved();
    for (const auto& hole : holes_) first = std::min(first, hole->look());
    return first;
  }
  // Returns the position up to which the log is reserved. Any thread may call it.
  uint64_t reserved() const { return next_.load(platform::memory_order_acquire); }

 private:
  uint64_t add(uint64_t bytes) { return next_.fetch_add(bytes, platform::memory_order_acq_rel); }

  const bool force_stale_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> next_{0};
  std::vector<platform::Padded<AnnouncedNumber>> holes_;
};

}  // namespace logjam
