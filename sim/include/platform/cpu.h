// platform/cpu.h of the simulated machine.
#pragma once

#include <cstdint>

namespace logjam::platform {

// Returns the cycles of the simulated clock. Costs the price of reading a time-stamp counter.
uint64_t ticks();
void pause();
void yield();
void prefetch(const void* address);

}  // namespace logjam::platform
