// Machine code whose time `logjam machine` takes, and an instruction that it needs. Any thread may
// call these functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace logjam::platform {

inline constexpr uint64_t kAddsInARound = 64;
// Makes rounds * kAddsInARound additions. Each waits for the previous addition, and takes a cycle.
// Both operands are registers, because cores that fold additions of constants would seem faster
// than their clock. The chain is unrolled, because a short loop may take longer than its additions.
void add_in_a_chain(uint64_t rounds);

// Whether the numbers of instructions below are those of this processor, and not only of x86.
#if defined(__aarch64__)
inline constexpr bool kCountsAreOfThisProcessor = false;
#else
inline constexpr bool kCountsAreOfThisProcessor = true;
#endif

using HashTable = std::array<uint64_t, 1024>;
// The number of instructions of a round on x86, where profiles count them. Arm needs only 26.
inline constexpr uint64_t kInstructionsInARound = 2 + 13 + 2 + 1 + 13 + 4 + 3;
// Makes `rounds` rounds of a loop that resembles the engine's code: all loads hit the L1, and one
// branch in 16 is unpredictable. Twice in a round the loop hashes a key (xorshift), loads from the
// address that the hash gives, and stores next to it. The first half of a round depends on no
// other round, the second half on the load of the previous round, as in an index search.
void hash_load_and_store(HashTable& table, uint64_t rounds);

inline constexpr uint64_t kInstructionsInARoundAhead = 2 + 13 + 2 + 2;
// Makes only the first halves of such rounds, so a core may execute several of them at once.
void hash_loads_ahead(HashTable& table, uint64_t rounds);

// Evicts the cache line of `address` from all caches. Call full_fence() after the last line.
void evict_line(const void* address);

}  // namespace logjam::platform
