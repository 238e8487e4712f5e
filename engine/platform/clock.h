// Time. ticks() is for marking moments cheaply; convert differences with ticks_to_ns().
#pragma once

#include <x86intrin.h>

#include <cstdint>

namespace logjam::platform {

// A monotone counter that advances at the same rate on all cores (invariant TSC).
inline uint64_t ticks() { return __rdtsc(); }

// Calibrated once, against CLOCK_MONOTONIC, at the first call.
double ns_per_tick();
inline double ticks_to_ns(uint64_t ticks) { return static_cast<double>(ticks) * ns_per_tick(); }
inline uint64_t ns_to_ticks(double ns) { return static_cast<uint64_t>(ns / ns_per_tick()); }

// CLOCK_MONOTONIC, in nanoseconds.
uint64_t now_ns();
// Sleeps; the kernel may overshoot by tens of microseconds.
void sleep_ns(uint64_t ns);

}  // namespace logjam::platform
