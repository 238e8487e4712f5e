// The speed of one core, alone and beside another core.
#pragma once

#include <cstdint>

namespace logjam::platform {

struct CoreCosts {
  double ghz;
  double instructions_per_cycle;
  double rmw_ns;         // a fetch-add of a line in the core's L1, minus an increment of it
  double fence_ns;       // full_fence() with an empty store buffer
  double pause_ns;       // pause()
  double ticks_ns;       // ticks()
  double clock_ns;       // now_ns()
  double allocation_ns;  // malloc or free of a small piece
};

// Measures core number `core` of pin_to_core().
CoreCosts core_costs(int core, uint32_t repetitions);

// Returns how many times longer the loop of instructions_per_cycle takes on one of two cores (or
// contexts of a core) while it runs on both: 1 if they share nothing.
double slowdown_beside(int core, int other, uint32_t repetitions);

}  // namespace logjam::platform
