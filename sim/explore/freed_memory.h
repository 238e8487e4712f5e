// Which memory of the region the explored program has freed: one bit for each 8 bytes. Memory that
// was freed is never used again (explored_heap.h, FreeList), so an access to it is an error,
// whenever it comes.
//
// Only the one host thread calls these functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/region.h"

namespace logjam::sim {

extern uint8_t* freed_bits;  // null: nobody watches

// Watches from now on. Called once, after reserve_region().
void watch_freed_memory();
// Notes that nobody may touch the bytes any more. They are in the region.
void note_freed(const void* at, size_t bytes);

// Returns whether the byte at this address was freed.
inline bool is_freed(const void* at) {
  constexpr uint64_t kWord = 8, kBits = 8;
  const uint64_t inside = reinterpret_cast<uintptr_t>(at) - kRegion;
  if (freed_bits == nullptr || inside >= kRegionBytes) return false;
  return (freed_bits[inside / kWord / kBits] >> inside / kWord % kBits & 1) != 0;
}

}  // namespace logjam::sim
