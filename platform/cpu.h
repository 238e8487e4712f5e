// The time-stamp counter, and hints to the core and the kernel. Any thread may call these
// functions. The simulated machine has its own functions (sim/include/platform).
#pragma once

#include <sched.h>

#include <cstdint>

namespace logjam::platform {

// Returns the time-stamp counter, which advances at the same rate on all cores: see ticks_to_ns().
// Orders no memory: the core may read the counter before or after the accesses around the call.
// (Includes no <x86intrin.h>, which would be a third of the text of most translation units.)
#if defined(__aarch64__)
inline uint64_t ticks() {
  uint64_t now;
  asm volatile("mrs %0, cntvct_el0" : "=r"(now));
  return now;
}
#else
inline uint64_t ticks() { return __builtin_ia32_rdtsc(); }
#endif

// Tells the core that the thread spins. Most Arm cores do nothing for `yield`; `isb` empties the
// pipeline, and takes about as long as x86's pause.
#if defined(__aarch64__)
inline void pause() { asm volatile("isb" ::: "memory"); }
#else
inline void pause() { __builtin_ia32_pause(); }
#endif
inline void yield() { sched_yield(); }

// Starts loading a line. The empty statement keeps the prefetch: g++ 12 removes calls of a function
// that only prefetches, because it takes the function for one without effects.
inline void prefetch(const void* address) {
  __builtin_prefetch(address);
  asm volatile("");
}

}  // namespace logjam::platform
