// The time-stamp counter, and hints to the core and the kernel. Any thread may call these
// functions. The simulated machine has its own functions (sim/include/platform).
#pragma once

#include <sched.h>

#include <cstdint>

namespace logjam::platform {

// Returns the time-stamp counter, which advances at the same rate on all cores: see ticks_to_ns().
// (Includes no <x86intrin.h>, which would be a third of the text of most translation units.)
inline uint64_t ticks() { return __builtin_ia32_rdtsc(); }

inline void pause() { __builtin_ia32_pause(); }
inline void yield() { sched_yield(); }

inline void prefetch(const void* address) { __builtin_prefetch(address); }

}  // namespace logjam::platform
