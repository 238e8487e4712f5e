// The C++ heap of the explored program, in place of the heap of heap.cc. Pieces lie one after
// another in few pages, because a forked process pays for each page that it writes. The addresses
// depend only on the order of the allocations, which is the same when a schedule is repeated.
//
// Neither this heap nor a FreeList uses freed memory again. So even a late access to freed memory
// is found as an error. One bit for each 8 bytes of the region says whether the bytes are freed.
// Only the one host thread calls these functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/region.h"

namespace logjam::sim {

// Starts the heap. Call it after reserve_region() and before the program's own main().
void start_explored_heap();
bool explored_heap_started();

// Ends the process with one sentence if the heap is used up.
void* explored_piece(size_t bytes, size_t alignment);
// Moves the next address of the heap up to a multiple of a large size. So a schedule gets the same
// addresses even if the program has allocated more or less before, as for a longer command line.
void begin_schedule_in_heap();
void free_explored_piece(void* piece);

extern uint8_t* freed_bits;  // null: accesses to freed memory are not watched

void watch_freed_memory();
// Notes that the program must not touch the bytes any more.
void note_freed(const void* at, size_t bytes);

inline bool is_freed(const void* at) {
  constexpr uint64_t kWord = 8, kBits = 8;
  const uint64_t inside = reinterpret_cast<uintptr_t>(at) - kRegion;
  if (freed_bits == nullptr || inside >= kRegionBytes) return false;
  return (freed_bits[inside / kWord / kBits] >> inside / kWord % kBits & 1) != 0;
}

}  // namespace logjam::sim
