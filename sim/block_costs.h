// How many instructions each basic block of the instrumented program has in a program that is not
// instrumented. scripts/block_costs.py counts them when the program has been linked, in a file
// beside it.
#pragma once

#include <cstdint>

namespace logjam::sim {

// By return address of the call at the block's beginning.
extern const uint8_t* block_costs;
extern uint64_t blocks_begin, blocks_bytes;

// A block that ends its function jumps to the call, whose return address is then the caller's: even
// one in a library. Such a block costs nothing.
inline uint64_t block_cost(const void* site) {
  const uint64_t at = reinterpret_cast<uintptr_t>(site) - blocks_begin;
  return at < blocks_bytes ? block_costs[at] : 0;
}

// Whether the address is one of this program's code, and no library's.
inline bool in_program(const void* site) {
  return reinterpret_cast<uintptr_t>(site) - blocks_begin < blocks_bytes;
}

// Reads the file of this program. Ends the process with one sentence if it is missing or another
// program's.
void read_block_costs();

}  // namespace logjam::sim
