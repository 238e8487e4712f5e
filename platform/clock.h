// Time stamps, clocks and sleeping. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <span>

#include "platform/cpu.h"

namespace logjam::platform {

// Returns the length of a tick. The first call takes 25 ms to calibrate ticks by CLOCK_MONOTONIC.
double ns_per_tick();
// An interval, measured with both clocks.
struct ClockInterval {
  uint64_t ns, ticks;
};
// Returns the median of the intervals' ratios. If a thread loses its core between the readings of
// the two clocks, one interval is wrong.
double median_ns_per_tick(std::span<const ClockInterval> intervals);
inline double ticks_to_ns(uint64_t ticks) { return static_cast<double>(ticks) * ns_per_tick(); }
inline uint64_t ns_to_ticks(double ns) { return static_cast<uint64_t>(ns / ns_per_tick()); }

// Returns CLOCK_MONOTONIC in nanoseconds.
uint64_t now_ns();
// Sleeps. The kernel may wake the thread tens of microseconds late, and a signal may wake it early.
void sleep_ns(uint64_t ns);

}  // namespace logjam::platform
