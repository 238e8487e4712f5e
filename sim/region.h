// The simulated memory: one region of the address space, which holds the program's heap, mappings
// and stacks. The region has a fixed address, so addresses repeat in every run, and a cache line's
// number follows from its address. Only the one host thread calls these functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// The end of the program's variables, from the linker. The host's heap begins there.
extern "C" char program_end asm("_end");

namespace logjam::sim {

inline constexpr uint64_t kRegion = uint64_t{1} << 44;
inline constexpr uint64_t kRegionBytes = uint64_t{120} << 30;
inline constexpr uint64_t kHeapBytes = uint64_t{16} << 30;  // the region's last part: heap.cc
inline constexpr uint64_t kLineBytes = 64;
inline constexpr uint64_t kPageBytes = 4096;
// The program is linked so that its own variables are below this address.
inline constexpr uint64_t kStaticEnd = uint64_t{1} << 28;
inline constexpr uint32_t kRegionLines = kRegionBytes / kLineBytes;
// Cache lines from this number on (those of the heap and of the program's variables) have no alias.
inline constexpr uint32_t kFirstHeapLine = (kRegionBytes - kHeapBytes) / kLineBytes;
inline constexpr uint32_t kLines = kRegionLines + kStaticEnd / kLineBytes;
inline constexpr uint32_t kNoLine = ~uint32_t{0};

// Returns the number of an address's cache line. Returns kNoLine if accesses to the address are
// free, as in memory of libraries, the host's heap and thread_local variables.
inline uint32_t line_of(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const uint64_t inside = at - kRegion;
  if (inside < kRegionBytes) return static_cast<uint32_t>(inside / kLineBytes);
  if (at < kStaticEnd && at < reinterpret_cast<uintptr_t>(&program_end))
    return kRegionLines + static_cast<uint32_t>(at / kLineBytes);
  return kNoLine;
}
inline const void* address_of(uint32_t line) {
  const uint64_t at =
      line < kRegionLines ? kRegion + line * kLineBytes : (line - kRegionLines) * kLineBytes;
  return reinterpret_cast<const void*>(at);
}

void reserve_region();

// Maps zeroed memory of the host at `address`, or anywhere if the address is 0, and returns it.
void* map_at(uint64_t address, uint64_t bytes);
bool in_region(const void* address);
inline void* heap_begin() { return reinterpret_cast<void*>(kRegion + kRegionBytes - kHeapBytes); }

// Returns `bytes` of zeroed memory whose home is `socket`, aligned to `alignment`. No two calls
// return the same addresses, even after give_back().
void* take(size_t bytes, size_t alignment, uint32_t socket);
// Gives the pages back to the host.
void give_back(void* address, size_t bytes);
uint64_t taken_bytes();

// Declares that two ranges have the same pages, as in a mirrored ring. Each line of the second
// range is then an alias of a line of the first range.
void alias(const void* first, const void* second, size_t bytes);
// For each page: how many lines it lies after the page that it aliases. Null: no region yet.
extern int32_t* alias_of_page;
// Returns the line of the first range of which `line` is an alias, or `line` itself.
inline uint32_t resolve_alias(uint32_t line) {
  if (line >= kFirstHeapLine) return line;
  return line - static_cast<uint32_t>(alias_of_page[line / (kPageBytes / kLineBytes)]);
}

// Returns the socket in whose memory a line is.
uint32_t home_of(uint32_t line);
void set_home(const void* address, size_t bytes, uint32_t socket);
// Makes the sockets in turn the homes of the pages of a range.
void interleave_homes(const void* address, size_t bytes, std::span<const int> sockets);

}  // namespace logjam::sim
