// How many instructions each basic block of the instrumented program would have without its
// instrumentation. scripts/block_costs.py counts them after the program is linked, and writes them
// to a file beside it.
#pragma once

#include <cstdint>

#include "sim/region.h"

namespace logjam::sim {

// The program's code, which ends before kStaticEnd.
extern uint64_t blocks_begin, blocks_bytes;
// Where the costs are, by the return address of the call at the block's beginning: at a fixed
// address, because no other function is called as often as block_cost().
inline constexpr uint64_t kBlockCosts = uint64_t{1} << 46;

// Returns the cost of the block that made the call. A block that ends its function jumps to the
// call; the return address is then the caller's, which may be in a library. Such a block costs 0.
inline uint64_t block_cost(const void* site) {
  const auto at = reinterpret_cast<uintptr_t>(site);
  return at < kStaticEnd ? *reinterpret_cast<const uint8_t*>(kBlockCosts + at) : 0;
}

// Returns whether the address is in this program's code, not in a library's.
inline bool in_program(const void* site) {
  return reinterpret_cast<uintptr_t>(site) - blocks_begin < blocks_bytes;
}

// Reads this program's file. Refuses if the file is missing or belongs
// to another program.
void read_block_costs();

}  // namespace logjam::sim
