// The number of instructions of each basic block of the instrumented program, without the
// instrumentation. scripts/block_costs.py writes them to a file when the program is linked.
#pragma once

#include <cstdint>

#include "sim/region.h"

namespace logjam::sim {

// The address and the length of the program's code.
extern uint64_t blocks_begin, blocks_bytes;
// The address of the table of costs, which has one byte for each return address of a call at a
// block's beginning. The address is a constant, so that block_cost() need not load it.
inline constexpr uint64_t kBlockCosts = uint64_t{1} << 46;

// Returns the cost of the block that called the hook with the return address `site`. If the call is
// the block's last instruction, the compiler makes it a jump. Then `site` lies in the caller of the
// block's function. If this caller is in a library, the cost is 0.
inline uint64_t block_cost(const void* site) {
  const auto at = reinterpret_cast<uintptr_t>(site);
  return at < kStaticEnd ? *reinterpret_cast<const uint8_t*>(kBlockCosts + at) : 0;
}

inline bool in_program(const void* site) {
  return reinterpret_cast<uintptr_t>(site) - blocks_begin < blocks_bytes;
}

// Reads the file of the costs. Refuses if the file is missing or belongs to another program. If
// `fold` is true, changes the program's calls of the hook into calls that know their block's cost.
// The explorer needs the hook itself, which notes the blocks that have run.
void read_block_costs(bool fold);

}  // namespace logjam::sim
