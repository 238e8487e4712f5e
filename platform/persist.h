// Stores that must leave the CPU's caches for memory. Any thread may call these functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace logjam::platform {

// Writes every cache line of [address, address + bytes) back to memory, and fences. If the memory
// is persistent, the bytes then survive a power cut. Uses clwb, which keeps the line in the cache,
// if the CPU has it; else clflushopt; else clflush. On Arm: dc cvap, else dc cvac, which reaches
// persistent memory only where the platform says so.
void write_back(const void* address, size_t bytes);

const char* write_back_instruction();

// Spins without giving the core away: for latencies shorter than any sleep.
void spin_ticks(uint64_t ticks);

}  // namespace logjam::platform
