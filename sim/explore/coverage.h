// Which basic blocks of the program the explorer and the processes that it forks have executed
// (begin_coverage() of platform/exploration.h).
//
// One bit of shared memory stands for 4 addresses of the program's code, because each block begins
// with a call, which takes 5. The file of a campaign has these bits (proof/explore.py).
#pragma once

#include <cstdint>

#include "sim/machine/block_costs.h"

namespace logjam::sim {

extern uint8_t* covered_blocks;  // null: nobody counts
inline constexpr uint64_t kAddressesABit = 4, kBitsAByte = 8;

// Counts the block that begins with the call before the address `site`.
inline void cover(const void* site) {
  const uint64_t at = reinterpret_cast<uintptr_t>(site) - blocks_begin;
  if (at >= blocks_bytes) return;
  const uint64_t bit = at / kAddressesABit;
  uint8_t& byte = covered_blocks[bit / kBitsAByte];
  const auto mask = static_cast<uint8_t>(1 << bit % kBitsAByte);
  if ((byte & mask) == 0) byte |= mask;
}

}  // namespace logjam::sim
