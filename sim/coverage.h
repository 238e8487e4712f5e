// Which basic blocks of the program the explorer has executed, in all processes that it has forked.
//
// One byte of shared memory for each address of the program's code: a process sets bytes to 1, and
// one reads them while no other runs.
#pragma once

#include <cstdint>

#include "sim/block_costs.h"

namespace logjam::sim {

extern uint8_t* covered_blocks;  // null: nobody counts

// Counts the block that made the call before this address.
inline void cover(const void* site) {
  const uint64_t at = reinterpret_cast<uintptr_t>(site) - blocks_begin;
  if (at < blocks_bytes) covered_blocks[at] = 1;
}

// Counts from now on, also in processes that are forked later.
void begin_coverage();
// Returns how many blocks were executed.
uint64_t blocks_covered();

}  // namespace logjam::sim
