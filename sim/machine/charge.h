// Charges the running fiber for its instructions and its accesses to memory, or makes the accesses
// steps of the explorer. Most accesses end in the inline functions here, because the core's L1 has
// the cache line.
//
// Only the one host thread calls these functions. All functions that charge may switch fibers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/explore/explorer.h"
#include "sim/machine/scheduler.h"

namespace logjam::sim {

// The numbers of charged accesses, of charged instructions, and of charged lines of memory that
// the hardware fetched ahead.
extern uint64_t accesses, executed, fetched_ahead;

// Charges the running fiber for an access that takes time.
void charge_access(const void* site, const void* address, size_t bytes, Access kind);

void warm_lines(const void* address, size_t bytes);

inline bool is_in_one_line(const void* address, size_t bytes) {
  return reinterpret_cast<uintptr_t>(address) % kLineBytes + bytes <= kLineBytes;
}

// Puts the lines of a range, which the observer accesses, into shared caches.
inline void warm(const void* address, size_t bytes) {
  const uint32_t line = line_of(address);
  if (is_in_one_line(address, bytes) && (line == kNoLine || warmed->is_warm(line))) return;
  warm_lines(address, bytes);
}

// Returns whether the access changes nothing and costs nothing, because it touches one line only,
// which is the most recent line of its set in the L1.
inline bool takes_no_time(const Cpu& cpu, const void* address, size_t bytes, Access kind) {
  const uint32_t line = line_of(address);
  return is_in_one_line(address, bytes) && line != kNoLine &&
         cpu.core->l1.is_most_recent(line, kind == Access::kStore) && cpu.prefetches_end <= cpu.now;
}

// Charges an access. `site` is the address after the instruction that makes the access. The slow
// path is a call, so that the fast path need not save registers.
inline void access(const void* site, const void* address, size_t bytes, Access kind) {
  const Cpu* cpu = running;
  if (cpu == nullptr) {
    if (exploring != nullptr) {
      exploring->access(site, const_cast<void*>(address), bytes, kind);
    } else if (warmed != nullptr) {
      warm(address, bytes);
    }
    return;
  }
  if (takes_no_time(*cpu, address, bytes, kind)) {
    ++accesses;
  } else {
    charge_access(site, address, bytes, kind);
  }
}

inline void instructions(uint64_t count) {
  if (Cpu* cpu = running) {
    executed += count;
    cpu->now += count * cpu->per_instruction;
  }
}

// Waits for the turn of an atomic load in the order of the clocks, and charges the load.
void charge_atomic_load(const void* site, const void* address);
// Charges an atomic load and returns true if the load's turn has come and the load takes no time.
// Otherwise returns false: then call before_atomic_load().
inline bool is_free_atomic_load(const void* address) {
  const Cpu* cpu = running;
  if (cpu == nullptr || cpu->now > horizon) return false;
  if (!takes_no_time(*cpu, address, 1, Access::kLoad)) return false;
  ++accesses;
  return true;
}
inline void before_atomic_load(const void* site, const void* address) {
  if (running != nullptr) return charge_atomic_load(site, address);
  if (exploring != nullptr) {
    exploring->atomic_load(site, address);
  } else if (warmed != nullptr) {
    warm(address, 1);
  }
}
void before_atomic_store(const void* site, const void* address, size_t bytes,
                         bool sequentially_consistent);
void before_read_modify_write(const void* site, const void* address);
void before_fence();

}  // namespace logjam::sim
