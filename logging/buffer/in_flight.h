// An LSN sequencer that remembers where each worker's unfilled hole begins. The log is filled up to
// the first of these, exactly: no record waits for one behind it, however long that one's worker
// takes. Nobody owns the watermark: whoever wants it looks at all workers' places, in turn.
//
// Protocol. `next_`: fetch-add by workers, loaded by lookers. `place`, of each worker: only it
// stores.
//   reserve   stores a bound, where its hole cannot begin before; fetch-adds `next_`; stores where
//             it does begin.
//   filled    (the record is filled) stores kNone.
//   look      loads `next_`, and only then the places. A record that this `next_` counts was
//             reserved by a fetch-add that the load acquires from (read-modify-writes continue each
//             other's release), so its worker's bound, or something newer, is seen. What is newer
//             is stored with release, when the record is filled or its place known.
// The bound may be stale: others reserved in between, and who looked now thinks there is a hole
// where there is none. So reserve() says so (`others_may_wait`), and its caller must look again,
// for those that did and went to sleep: both sides store, fence, and look, and the last one sees
// all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "platform/atomic.h"
#include "platform/spin.h"

namespace logjam {

class InFlight {
 public:
  // `force_stale` is for tests: every bound is, for a while.
  explicit InFlight(uint32_t workers, bool force_stale = false)
      : force_stale_(force_stale), places_(workers) {}

  struct Reserved {
    uint64_t begin;
    bool others_may_wait;
  };
  Reserved reserve(uint32_t worker, uint64_t bytes) {
    platform::atomic<uint64_t>& place = *places_[worker];
    // Its last hole was never filled, the device being gone: that one stays its place.
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
  void filled(uint32_t worker) { places_[worker]->store(kNone, platform::memory_order_release); }

  // Everything before is filled.
  uint64_t look() const {
    uint64_t first = reserved();
    for (const auto& place : places_) {
      first = std::min(first, place->load(platform::memory_order_acquire));
    }
    return first;
  }
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
