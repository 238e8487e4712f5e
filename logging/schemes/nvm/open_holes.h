// An LSN sequencer that remembers where each worker's unfilled hole begins. The log is filled
// exactly up to the first of these holes: no record waits for a later hole, however long the worker
// of that hole takes. No thread owns the watermark: a thread that needs it loads the places of all
// workers.
//
// Protocol. Workers add to `next_`, and a thread that looks for the watermark loads it. Each worker
// has a `place`, which only that worker stores.
//   reserve   stores a bound, a position before which the hole cannot begin; then does a fetch-add
//             on `next_`; then stores the position at which the hole begins.
//   filled    is called when the record is filled; stores kNone.
//   look      loads `next_`, and only then the places. A record that this value of `next_` counts
//             was reserved by a fetch-add that the load acquires from (read-modify-writes continue
//             each other's release). So the looking thread sees the bound of the record's worker,
//             or a newer value. A newer value is stored with release, when the record is filled or
//             its place is known.
// The bound may be stale: other workers may reserve in between. A thread that calls look() at that
// moment finds a hole where there is none. So reserve() returns `others_may_wait`, and its caller
// must then look() again, for the threads that found the stale bound and went to sleep. Both sides
// store, fence, and load; the last one sees all stores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "platform/atomic.h"
#include "platform/spin.h"

namespace logjam {

class OpenHoles {
 public:
  // Makes a sequencer. With `force_stale`, which is for tests, every bound is stale for a while.
  explicit OpenHoles(uint32_t workers, bool force_stale = false)
      : force_stale_(force_stale), places_(workers) {}

  struct Reserved {
    uint64_t begin;        // the position at which the hole begins
    bool others_may_wait;  // the bound was stale: the caller must look() again
  };
  // Reserves a hole of `bytes`. Called by worker `worker`.
  Reserved reserve(uint32_t worker, uint64_t bytes) {
    platform::atomic<uint64_t>& place = *places_[worker];
    // The worker could not fill its last hole, because the device failed. The place stays at that
    // hole.
    if (place.load(platform::memory_order_relaxed) != kNone) {
      return {next_.fetch_add(bytes, platform::memory_order_acq_rel), false};
    }
    const uint64_t bound = force_stale_ ? 0 : next_.load(platform::memory_order_relaxed);
    place.store(bound, platform::memory_order_release);
    if (force_stale_) platform::yield();
    const uint64_t begin = next_.fetch_add(bytes, platform::memory_order_acq_rel);
    if (begin == bound) return {begin, false};
    place.store(begin, platform::memory_order_release);
    return {begin, true};
  }
  // Removes the worker's hole, which is filled. Called by worker `worker`.
  void filled(uint32_t worker) { places_[worker]->store(kNone, platform::memory_order_release); }

  // Returns the position up to which all holes are filled. Any thread may call it.
  uint64_t look() const {
    uint64_t first = reserved();
    for (const auto& place : places_) {
      first = std::min(first, place->load(platform::memory_order_acquire));
    }
    return first;
  }
  // Returns the position up to which the log is reserved. Any thread may call it.
  uint64_t reserved() const { return next_.load(platform::memory_order_acquire); }

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};
  struct Place : platform::atomic<uint64_t> {
    Place() : platform::atomic<uint64_t>(kNone) {}
  };

  const bool force_stale_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> next_{0};
  std::vector<platform::Padded<Place>> places_;
};

}  // namespace logjam
