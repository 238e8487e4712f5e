// What a hardware thread does by one instruction. Any thread may call any function of this file.
//
// The simulated machine has a file of this name in sim/include, and so have
// platform/os_thread.h and platform/mutex.h: its build finds those first.
#pragma once

#include <sched.h>

#include <cstdint>

namespace logjam::platform {

// The time-stamp counter of the CPU. It only grows, and it advances at the same rate on all cores
// (invariant TSC). Convert differences of ticks with ticks_to_ns(). It is the compiler's builtin:
// <x86intrin.h> would be a third of the text of most translation units.
inline uint64_t ticks() { return __builtin_ia32_rdtsc(); }

// Tells the core that the thread spins.
inline void pause() { __builtin_ia32_pause(); }
// Gives the core to another thread that is ready, if there is one.
inline void yield() { sched_yield(); }

// Begins to fetch the cache line of `address`, which the thread will read soon.
inline void prefetch(const void* address) { __builtin_prefetch(address); }

}  // namespace logjam::platform
