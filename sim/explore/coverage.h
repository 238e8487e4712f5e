// Which basic blocks of the program the explorer has executed, in all processes that it has forked.
//
// One bit of shared memory for each 4 addresses of the program's code, because a call, which each
// block begins with, takes 5. The file of a campaign has these bits (proof/explore.py).
#pragma once

#include <cstdint>
#include <string>

#include "sim/machine/block_costs.h"

namespace logjam::sim {

extern uint8_t* covered_blocks;  // null: nobody counts
inline constexpr uint64_t kAddressesABit = 4, kBitsAByte = 8;

// Counts the block that made the call before this address.
inline void cover(const void* site) {
  const uint64_t at = reinterpret_cast<uintptr_t>(site) - blocks_begin;
  if (at >= blocks_bytes) return;
  const uint64_t bit = at / kAddressesABit;
  uint8_t& byte = covered_blocks[bit / kBitsAByte];
  const auto mask = static_cast<uint8_t>(1 << bit % kBitsAByte);
  if ((byte & mask) == 0) byte |= mask;
}

// Counts from now on, also in processes that are forked later; in the file `path`, or in memory if
// `path` is empty. Ends the process with one sentence if the file or the memory cannot be used.
void begin_coverage(const std::string& path);
// Returns how many blocks were executed.
uint64_t blocks_covered();

}  // namespace logjam::sim
