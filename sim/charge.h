// Charging the running fiber for what the instrumented code does: its accesses to memory (hooks.cc,
// library_calls.cc) and its instructions.
//
// One host thread. The fast paths here are all that most accesses need: a line that the core's
// first cache has.
#pragma once

#include <cstddef>

#include "sim/scheduler.h"

namespace logjam::sim {

// Accesses that were charged so far.
extern uint64_t accesses;

// An access that the first cache did not answer. It may switch.
void access_line(const void* site, uint32_t line, Access kind);

inline void access_line_of(Cpu& cpu, const void* site, uint32_t line, Access kind) {
  if (!cpu.core->l1.touch(line, kind == Access::kStore)) {
    access_line(site, line, kind);
  } else if (cpu.prefetches_end > cpu.now) {
    cpu.await_prefetch(line);
  }
}

// An access by the instruction behind which `site` is.
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

// What comes before an atomic operation: its place in the order of the clocks, and its price. These
// may switch.
void before_atomic_load(const void* site, const void* address);
void before_atomic_store(const void* site, const void* address, bool sequentially_consistent);
void before_read_modify_write(const void* site, const void* address);
void before_fence();

}  // namespace logjam::sim
