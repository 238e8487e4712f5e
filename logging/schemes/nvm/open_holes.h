// An LSN sequencer that remembers where each worker's unfilled hole begins. The log is filled
// exactly up to the first of these holes: no record waits for a hole behind it, however long the
// worker of that hole takes. No thread owns the watermark: a thread that wants to know it looks at
// the places of all workers, in turn.
//
// Protocol. Workers add to `next_`, and a thread that looks loads it. Each worker has a `place`,
// which only that worker stores.
//   reserve   stores a bound, a position before which the hole cannot begin; then does a fetch-add
//             on `next_`; then stores the position at which the hole begins.
//   filled    is called when the record is filled; stores kNone.
//   look      loads `next_`, and only then the places. A record that this value of `next_` counts
//             was reserved by a fetch-add that the load acquires from (read-modify-writes continue
//             each other's release). So the looking thread sees the bound of the record's worker,
//             or a newer value. A newer value is stored with release, when the record is filled or
//             its place is known.
// The bound may be stale: other workers may reserve in between. A thread that looks at that moment
// finds a hole where there is none. So reserve() returns `others_may_wait`, and its caller must
// then look again, for the threads that found the stale bound and went to sleep. Both sides store,
// fence, and look; the last one sees all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "platform/atomic.h"
#include "platform/spin.h"

namespace logjam {

class OpenHoles {
 public:
  // With `force_stale`, which is for tests, every bound is stale for a while.
  explicit OpenHoles(uint32_t workers, bool force_stale = false)
      : force_stale_(force_stale), places_(workers) {}

  struct Reserved {
    uint64_t begin;        // the position at which the hole begins
    bool others_may_wait;  // the bound was stale: the caller must look again
  };
  // Called by worker `worker`: reserves a hole of `bytes`.
  Reserved reserve(uint32_t worker, uint64_t bytes) {
    platform::atomic<uint64_t>& place = *places_[worker];
    // The worker could not fill its last hole, because the device is gone. The place stays at that
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
  // Called by worker `worker`, when its hole is filled.
  void filled(uint32_t worker) { places_[worker]->store(kNone, platform::memory_order_release); }

  // Any thread. Returns the position up to which everything is filled.
  uint64_t look() const {
    uint64_t first = reserved();
    for (const auto& place : places_) {
      first = std::min(first, place->load(platform::memory_order_acquire));
    }
    return first;
  }
  // Any thread. Returns the position up to which everything is reserved.
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
