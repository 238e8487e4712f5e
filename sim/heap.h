// The C++ heap of the simulated program (heap.cc).
#pragma once

#include <cstdint>

namespace logjam::sim {

// Makes operator new take memory of the region from now on. `seed` moves the slabs, as another link
// order would. Call it after reserve_region() and before the program's own main().
void start_heap(uint64_t seed);
// Makes operator new take the host's memory again.
void stop_heap();

// The number of slabs in use, and the sum of the slabs' numbers. Both are equal in runs with equal
// allocations.
struct Slabs {
  uint64_t count = 0, sum = 0;
};
Slabs slabs_taken();

}  // namespace logjam::sim
