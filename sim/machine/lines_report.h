// --report=accesses prints the number of accesses that left their core's caches, by the cache or
// memory that answered. --report=lines[:N] adds the N cache lines that cost most, the functions
// that allocated their memory, and the functions that accessed the lines. A report covers the
// measured time, or the whole run if the program measures no time.
//
// The functions take memory only from the host (host_allocator.h), so a report changes no result.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/machine/machine.h"

namespace logjam::sim {

extern bool reporting_lines, reporting_memory;

void record_transfer(const void* site, uint32_t line, uint32_t core, Picoseconds waited,
                     Picoseconds latency);
void record_allocation(const void* piece, size_t bytes);

// Records that the instruction before `site` fetched a cache line from outside its core. If a
// store, a prefetch or a stream was under way, the core waited for only a part of the latency.
inline void note_transfer(const void* site, uint32_t line, uint32_t core, Picoseconds waited,
                          Picoseconds latency) {
  if (reporting_lines) record_transfer(site, line, core, waited, latency);
}
inline void note_allocation(const void* piece, size_t bytes) {
  if (reporting_memory) record_allocation(piece, bytes);
}

void begin_reported_time();
void end_reported_time();

// Begins --report=lines. Call it before the program allocates memory.
void begin_lines_report();
// Prints the report that --report asks for. Call it after the program's main().
void print_lines_report();

}  // namespace logjam::sim
