// The time-stamp counter, and hints to the core and the kernel. Any thread may call any function of
// this file.
//
// The simulated machine has a file of the same name in sim/include/platform, which its build finds
// first.
#pragma once

#include <sched.h>

#include <cstdint>

namespace logjam::platform {

// Returns the time-stamp counter of the CPU. It only grows, and it advances at the same rate on all
// cores (invariant TSC). Convert differences of ticks with ticks_to_ns(). Uses the compiler's
// builtin, because <x86intrin.h> would be a third of the text of most translation units.
inline uint64_t ticks() { return __builtin_ia32_rdtsc(); }

// Tells the core that the thread spins.
inline void pause() { __builtin_ia32_pause(); }
// Gives the core to another ready thread, if one exists.
inline void yield() { sched_yield(); }

// Starts to fetch the cache line of `address`, which the thread will read soon.
inline void prefetch(const void* address) { __builtin_prefetch(address); }

}  // namespace logjam::platform
