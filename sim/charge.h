// Charges the running fiber for its accesses to memory (hooks.cc, library_calls.cc) and its
// instructions.
//
// Only the one host thread calls these functions. Most accesses end in the fast paths here, because
// the core's first cache has the line.
#pragma once

#include <cstddef>

#include "sim/scheduler.h"

namespace logjam::sim {

// The number of accesses that were charged so far.
extern uint64_t accesses;

// Charges an access that the first cache did not answer. May switch fibers.
void access_line(const void* site, uint32_t line, Access kind);

inline void access_line_of(Cpu& cpu, const void* site, uint32_t line, Access kind) {
  if (!cpu.core->l1.touch(line, kind == Access::kStore)) {
    access_line(site, line, kind);
  } else if (cpu.prefetches_end > cpu.now) {
    cpu.await_prefetch(line);
  }
}

// Charges an access. `site` is the address after the instruction that makes it. May switch fibers.
inline void access(const void* site, const void* address, size_t bytes, Access kind) {
  Cpu* cpu = running;
  if (cpu == nullptr) return;
  const uint32_t line = line_of(address);
  if (line == kNoLine) return;
  ++accesses;
  access_line_of(*cpu, site, line, kind);
  const uint32_t last = line_of(static_cast<const char*>(address) + bytes - 1);
  if (last == line || last == kNoLine) return;
  for (uint32_t next = line + 1; next <= last; ++next) {
    if (running != nullptr) access_line_of(*running, site, next, kind);
  }
}

inline void instructions(uint64_t count) {
  if (Cpu* cpu = running) cpu->now += count * cpu->per_instruction;
}

// Waits for an atomic load's turn in the order of the clocks, and charges its price. May switch
// fibers. So do the following functions before the other atomic operations.
void before_atomic_load(const void* site, const void* address);
void before_atomic_store(const void* site, const void* address, bool sequentially_consistent);
void before_read_modify_write(const void* site, const void* address);
void before_fence();

}  // namespace logjam::sim
