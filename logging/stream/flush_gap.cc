#include "logging/stream/flush_gap.h"

#include <algorithm>

#include "platform/clock.h"

namespace logjam {
namespace {

constexpr uint64_t kWritesInPeriod = 3;
constexpr uint64_t kLeastGapUs = 200, kMostGapUs = 500, kMostGapOfLatencyUs = 2000;
constexpr uint64_t kMostPaceUs = 200;
// The mean of the durations is a moving one: the last write has this share of it.
constexpr uint64_t kShare = 16;
constexpr uint64_t kMostOverMean = 4;

uint64_t ticks_of(uint64_t us) { return platform::ns_to_ticks(static_cast<double>(us) * 1e3); }

}  // namespace

FlushGap::FlushGap(const LogConfig& config)
    : chosen_(config.chooses_gap),
      latency_ticks_(ticks_of(config.gap_latency_us)),
      most_pace_ticks_(ticks_of(kMostPaceUs)),
      ticks_(ticks_of(config.chooses_gap ? kLeastGapUs : config.flush_gap_us)) {}

void FlushGap::note_write(uint64_t ticks) {
  if (!chosen_) return;
  if (write_ticks_ == 0) {
    write_ticks_ = ticks;
  } else {
    write_ticks_ += std::min(ticks, kMostOverMean * write_ticks_) / kShare - write_ticks_ / kShare;
  }
  const uint64_t gap =
      latency_ticks_ == 0
          ? std::clamp(kWritesInPeriod * write_ticks_, ticks_of(kLeastGapUs), ticks_of(kMostGapUs))
          : std::min(2 * (latency_ticks_ - std::min(latency_ticks_, write_ticks_)),
                     ticks_of(kMostGapOfLatencyUs));
  ticks_.store(gap, platform::memory_order_relaxed);
}

}  // namespace logjam
