// The C++ heap of the simulated program (heap.cc).
#pragma once

namespace logjam::sim {

// Makes operator new take memory of the region from now on. The main thread calls it once, after
// reserve_region() and before the program's own main().
void start_heap();
// Makes operator new take the host's memory again.
void stop_heap();

}  // namespace logjam::sim
