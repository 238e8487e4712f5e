// How many instructions each basic block of the instrumented program would have without its
// instrumentation. scripts/block_costs.py counts them after the program is linked, and writes them
// to a file beside it.
#pragma once

#include <cstdint>

namespace logjam::sim {

// The costs, by the return address of the call at the block's beginning.
extern const uint8_t* block_costs;
extern uint64_t blocks_begin, blocks_bytes;

// Returns the cost of the block that made the call. A block that ends its function jumps to the
// call; the return address is then the caller's, which may be in a library. Such a block costs 0.
inline uint64_t block_cost(const void* site) {
  const uint64_t at = reinterpret_cast<uintptr_t>(site) - blocks_begin;
  return at < blocks_bytes ? block_costs[at] : 0;
}

// Returns whether the address is in this program's code, not in a library's.
inline bool in_program(const void* site) {
  return reinterpret_cast<uintptr_t>(site) - blocks_begin < blocks_bytes;
}

// Reads this program's file. Ends the process with one sentence if the file is missing or belongs
// to another program.
void read_block_costs();

}  // namespace logjam::sim
