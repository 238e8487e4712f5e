// Filled bytes counted per I/O unit, and nothing else: the watermark passes a unit when all its
// bytes are filled.
//
// The last unit is seldom full, and a lone commit in it must not wait for others to fill it. So the
// watermark also goes to the end of what has been reserved, if as many bytes of that unit are
// filled as are reserved. The count is read *first* (acquire): whoever filled bytes had reserved
// them before, so `allocated`, read after it, lies behind all that the count counted; if they are
// as many as lie before `allocated`, there is no hole among them. In the other order the count
// could hold a record behind `allocated` instead of a hole before it.
//
// While several records of a unit are in the making, a filled one waits for the others, also for
// those behind it. For space in the ring none of them waits for ever: what precedes the unit gets
// flushed, and the largest record leaves a unit free (slack_bytes).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "logging/buffer/range_counts.h"
#include "logging/buffer/ring.h"
#include "logging/log_scheme.h"
#include "platform/atomic.h"

namespace logjam {

class UnitCounts {
 public:
  static constexpr bool kOwnThread = false;

  UnitCounts(const LogConfig& config, const Ring& ring)
      : unit_bytes_(std::min(config.io_unit_bytes, ring.capacity() / kLeastUnits)),
        counts_(unit_bytes_, ring.capacity()) {}

  bool room(uint32_t) const { return true; }
  void publish(uint32_t, uint64_t begin, uint64_t end) { counts_.add(begin, end); }
  uint64_t advance(uint64_t filled, const platform::atomic<uint64_t>& allocated) {
    uint64_t unit = counts_.range_of(filled);
    while (counts_.full(unit)) ++unit;
    const uint64_t begin = counts_.begin_of(unit);
    const uint64_t end = begin + counts_.filled_bytes(unit);
    return end == allocated.load(platform::memory_order_acquire) ? end : std::max(filled, begin);
  }
  uint64_t slack_bytes() const { return unit_bytes_; }
  Counters counters() const { return {}; }

 private:
  static constexpr uint64_t kLeastUnits = 8;  // in a ring

  const uint64_t unit_bytes_;
  RangeCounts counts_;
};

}  // namespace logjam
