// Time stamps, clocks and sleeping. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <span>

#include "platform/cpu.h"

namespace logjam::platform {

// Returns the length of a tick. The first call takes 25 ms to calibrate ticks by CLOCK_MONOTONIC.
double ns_per_tick();
// The length of an interval by CLOCK_MONOTONIC, and by the time-stamp counter.
struct ClockInterval {
  uint64_t ns, ticks;
};
// Returns the median of ns / ticks. An interval is wrong if the thread lost its core between the
// readings of the two clocks; the median leaves out such an interval.
double median_ns_per_tick(std::span<const ClockInterval> intervals);
inline double ticks_to_ns(uint64_t ticks) { return static_cast<double>(ticks) * ns_per_tick(); }
inline uint64_t ns_to_ticks(double ns) { return static_cast<uint64_t>(ns / ns_per_tick()); }

// Returns CLOCK_MONOTONIC in nanoseconds.
uint64_t now_ns();
// Sleeps for `ns`. The kernel may wake the thread tens of microseconds late, or early at a signal.
void sleep_ns(uint64_t ns);

}  // namespace logjam::platform
