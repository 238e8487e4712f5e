// The basic blocks of the program that the explorer and its forked processes have executed
// (begin_coverage() of platform/exploration.h).
//
// One bit of shared memory stands for 4 addresses of code. Two blocks never share a bit, because
// each block begins with a call of 5 bytes. A campaign's file has these bits (proof/explore.py).
#pragma once

#include <cstdint>

#include "sim/machine/block_costs.h"

namespace logjam::sim {

extern uint8_t* covered_blocks;  // null: blocks are not counted
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
