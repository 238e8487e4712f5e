// --report=accesses: where the accesses were answered that left their core's caches.
// --report=lines[:N]: the same, and which cache lines cost most, where their memory was allocated,
// and which functions share them. The simulated machine has no performance counters to sample: it
// has seen every transfer.
//
// The functions take host memory only (host_allocator.h): a run with a report has the same
// addresses, and the same results, as one without.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/machine.h"

namespace logjam::sim {

extern bool reporting_lines;

void record_transfer(const void* site, uint32_t line, uint32_t core, Picoseconds cost);
void record_allocation(const void* piece, size_t bytes);

// A line came to a core from elsewhere, for the instruction before `site`.
inline void note_transfer(const void* site, uint32_t line, uint32_t core, Picoseconds cost) {
  if (reporting_lines) record_transfer(site, line, core, cost);
}
// The program has got this memory.
inline void note_allocation(const void* piece, size_t bytes) {
  if (reporting_lines) record_allocation(piece, bytes);
}

// Reads --report. Called before the program's memory is allocated, as far as that can be.
void begin_lines_report(int argc, char** argv);
// Prints the report, if one was asked for, when the program has ended.
void print_lines_report();

}  // namespace logjam::sim
