// platform/cpu.h of the simulated machine.
#pragma once

#include <cstdint>

namespace logjam::platform {

// The cycles of the simulated clock. They cost what reading a time-stamp counter costs.
uint64_t ticks();
void pause();
void yield();
void prefetch(const void* address);

}  // namespace logjam::platform
