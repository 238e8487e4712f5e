// --report=accesses: how many accesses left their core's caches, by where they were answered.
// --report=lines[:N]: the same, and the cache lines that cost most, the places that allocated their
// memory, and the functions that share them. Nothing is sampled: the simulation sees every
// transfer. A report is of the measured time, without the loading, the start of the threads and the
// warm-up; of a program that measures none it is of all.
//
// The functions take host memory only (host_allocator.h), so a run with a report has the same
// addresses, and the same results, as a run without.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/machine/machine.h"

namespace logjam::sim {

extern bool reporting_lines;   // transfers are recorded
extern bool reporting_memory;  // allocations are

void record_transfer(const void* site, uint32_t line, uint32_t core, Picoseconds waited,
                     Picoseconds latency);
void record_allocation(const void* piece, size_t bytes);

// Records that a line came to a core from elsewhere, for the instruction before `site`. The core
// waited for a part of the latency: it works on while a store, a prefetch or a stream is under way.
inline void note_transfer(const void* site, uint32_t line, uint32_t core, Picoseconds waited,
                          Picoseconds latency) {
  if (reporting_lines) record_transfer(site, line, core, waited, latency);
}
// Records that the program has allocated this memory.
inline void note_allocation(const void* piece, size_t bytes) {
  if (reporting_memory) record_allocation(piece, bytes);
}

// Begins the report anew, and ends it.
void begin_reported_time();
void end_reported_time();

// Reads --report. Call it before the program allocates memory, as far as possible.
void begin_lines_report(int argc, char** argv);
// Prints the report, if --report asks for one. Call it when the program has ended.
void print_lines_report();

}  // namespace logjam::sim
