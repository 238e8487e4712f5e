// Stores that must reach memory itself: non-volatile memory keeps what has left the caches.
#pragma once

#include <cstddef>
#include <cstdint>

namespace logjam::platform {

// Writes back every cache line of [address, address + bytes), and returns behind a store fence:
// with persistent memory below, the bytes then survive a power cut. By clwb, which keeps the line,
// where the CPU has it, else by clflushopt, else by clflush.
void write_back(const void* address, size_t bytes);

// Which of the three this CPU is given.
const char* write_back_instruction();

// Waits without giving the core away: for latencies shorter than any sleep.
void spin_ticks(uint64_t ticks);

}  // namespace logjam::platform
