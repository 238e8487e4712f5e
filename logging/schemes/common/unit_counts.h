// A tracker that only counts the filled bytes of each I/O unit: the watermark passes a unit when
// all bytes of the unit are filled.
//
// A lone commit in the last unit must not wait until other workers fill the unit. So the watermark
// also advances to the end of the last reservation, if all reserved bytes of the unit are filled.
//
// The count is loaded *first* (acquire), and `allocated` after it. A publisher reserves its bytes
// before it fills them, so `allocated` lies after all bytes that the count includes. If the count
// equals the number of the unit's bytes before `allocated`, these bytes have no hole. In the other
// order, the count could include a record after `allocated` and miss a hole before it.
//
// A filled record waits for all unfinished records of its unit, even for later records. No
// unfinished record waits for ring space for ever: all bytes before the unit can be flushed, and
// the largest record leaves a unit free (slack_bytes).
#pragma once

#include "logging/schemes/common/fetch_add_scheme.h"
#include "logging/schemes/common/range_counts.h"
#include "logging/schemes/common/tracker_base.h"

namespace logjam {

class UnitCounts : public TrackerBase {
 public:
  UnitCounts(uint32_t, const Ring& ring, uint64_t unit_bytes)
      : unit_bytes_(std::min(unit_bytes, ring.capacity() / kLeastUnits)),
        counts_(unit_bytes_, ring.capacity()) {}

  void publish(uint32_t, uint64_t begin, uint64_t end) { counts_.add(begin, end); }
  // Returns the new watermark. `allocated` is an atomic, or a test's substitute for one.
  template <class Position>
  uint64_t advance(uint64_t filled, const Position& allocated) {
    uint64_t unit = counts_.range_of(filled);
    while (counts_.full(unit)) ++unit;
    const uint64_t begin = counts_.begin_of(unit);
    const uint64_t end = begin + counts_.filled_bytes(unit);
    return end == allocated.load(platform::memory_order_acquire) ? end : std::max(filled, begin);
  }
  uint64_t slack_bytes() const { return unit_bytes_; }

 private:
  static constexpr uint64_t kLeastUnits = 8;  // the fewest units in a ring

  const uint64_t unit_bytes_;
  RangeCounts counts_;
};

// The log of `centr-faa` and of `command`, which differ in the content of the records.
class UnitCountScheme final : public FetchAddScheme<UnitCounts> {
  static constexpr uint64_t kUnitBytes = uint64_t{64} << 10;

 public:
  explicit UnitCountScheme(const LogConfig& config) : FetchAddScheme(config, kUnitBytes) {}
};

}  // namespace logjam
