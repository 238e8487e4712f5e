// The C++ heap of the explored program, in place of heap.cc's: pieces lie one after the other, in
// few pages, because a process that is forked pays for each page that it writes. No piece is used
// twice (freed_memory.h). The order of the calls decides the addresses; a schedule repeats it.
//
// Only the one host thread calls these functions.
#pragma once

#include <cstddef>

namespace logjam::sim {

// Makes explored_piece() give memory from now on. The main thread calls it once, after
// reserve_region() and before the program's own main().
void start_explored_heap();
bool explored_heap_started();

// Returns `bytes` bytes, aligned to `alignment`, a power of two. Ends the process with one sentence
// if the heap is used up.
void* explored_piece(size_t bytes, size_t alignment);
// Goes on at the next address of a coarse grid, so that a schedule finds the same addresses
// although more or less was allocated before it, for the command line say.
void begin_schedule_in_heap();
// Notes that a piece which explored_piece() returned is freed.
void free_explored_piece(void* piece);

}  // namespace logjam::sim
