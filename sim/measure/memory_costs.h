// Latency and bandwidth of caches and memory, seen from one core.
#pragma once

#include <cstdint>

#include "sim/measure/machine_shape.h"

namespace logjam::platform {

struct MemoryCosts {
  double l2_ns, l3_ns, memory_ns;  // of a load that depends on the one before; 0: no such cache
  // The part of the L3 that this machine may use, in MiB. A virtual machine often has only a part
  // of the L3 that its kernel sees.
  uint64_t l3_mib;
  // Memory-level parallelism: the throughput of four independent pointer chases over one (1 to 4).
  double overlap;
  double stream_ns;           // a line of memory that is read in order
  double stream_store_ns;     // a line of memory that is written in order
  double l3_stream_ns;        // a line of the L3 that is read in order; 0: no L3
  double gb_s;                // all allowed cores of the socket read memory in order, together
  uint32_t readers;           // the number of these cores
  double write_back_ns;       // write_back() of one line
  double write_back_line_ns;  // of each further line of the call
};

// Measures core number 0 of pin_to_core(); gb_s with all allowed cores of its NUMA node.
MemoryCosts memory_costs(const MachineShape& shape, uint32_t repetitions);

// Measures memory_ns on core number `core`, with memory that core number `home` has touched first.
double memory_ns(int core, int home, uint32_t repetitions);

}  // namespace logjam::platform
