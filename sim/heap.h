// The C++ heap of the simulated program (heap.cc).
#pragma once

namespace logjam::sim {

// From now on operator new takes memory of the region. The main thread calls it once, after
// reserve_region() and before the program's own main().
void start_heap();
// From now on it takes the host's again.
void stop_heap();

}  // namespace logjam::sim
