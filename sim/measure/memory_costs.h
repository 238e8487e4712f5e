// Latency and bandwidth of caches and memory, seen from one core.
#pragma once

#include <cstdint>

#include "sim/measure/machine_shape.h"

namespace logjam::platform {

struct MemoryCosts {
  double l2_ns, l3_ns, memory_ns;  // of a load that hangs on the one before; 0: no such cache
  // What of the L3 this machine may use, in MiB. A virtual machine often has a part of the one that
  // its kernel sees.
  uint64_t l3_mib;
  // How many times as fast as `memory_ns` loads come, of which four at a time do not hang on each
  // other: at most 4.
  double overlap;
  double stream_ns;           // a line of memory that is read in order
  double stream_store_ns;     // one that is written in order
  double l3_stream_ns;        // a line of the L3 that is read in order; 0: no L3
  double gb_s;                // all allowed cores of the socket read memory in order, together
  uint32_t readers;           // how many these are
  double write_back_ns;       // write_back() of one line
  double write_back_line_ns;  // of each further line of the call
};

// Measures core number 0 of pin_to_core(); gb_s with all allowed cores of its NUMA node.
MemoryCosts memory_costs(const MachineShape& shape, uint32_t repetitions);

// As memory_ns, where core number `home` has touched the memory first.
double memory_ns(int core, int home, uint32_t repetitions);

}  // namespace logjam::platform
