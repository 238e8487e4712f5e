// The simulated memory: one region of the address space at a fixed place, from which the program's
// heap, its mappings and its stacks come. So addresses are the same in every run, and each cache
// line has its state at a place that follows from its address.
//
// Only the one host thread calls these functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace logjam::sim {

inline constexpr uint64_t kRegion = uint64_t{1} << 44;
inline constexpr uint64_t kRegionBytes = uint64_t{96} << 30;
inline constexpr uint64_t kHeapBytes = uint64_t{16} << 30;  // its end is the heap's (heap.cc)
inline constexpr uint64_t kLineBytes = 64;
inline constexpr uint64_t kPageBytes = 4096;
// The program's own variables: it is linked at a fixed place below this address.
inline constexpr uint64_t kStaticEnd = uint64_t{1} << 28;
inline constexpr uint32_t kRegionLines = kRegionBytes / kLineBytes;
inline constexpr uint32_t kLines = kRegionLines + kStaticEnd / kLineBytes;
inline constexpr uint32_t kNoLine = ~uint32_t{0};

// The number of the cache line that has the address. kNoLine: memory that is not simulated (of
// libraries, the host's heap, thread_local variables), of which accesses are free.
inline uint32_t line_of(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const uint64_t inside = at - kRegion;
  if (inside < kRegionBytes) return static_cast<uint32_t>(inside / kLineBytes);
  if (at < kStaticEnd) return kRegionLines + static_cast<uint32_t>(at / kLineBytes);
  return kNoLine;
}
// The address of a line's first byte.
inline const void* address_of(uint32_t line) {
  const uint64_t at =
      line < kRegionLines ? kRegion + line * kLineBytes : (line - kRegionLines) * kLineBytes;
  return reinterpret_cast<const void*>(at);
}

// Maps the region. Called once, before anything is taken from it.
void reserve_region();
bool in_region(const void* address);
inline void* heap_begin() { return reinterpret_cast<void*>(kRegion + kRegionBytes - kHeapBytes); }

// Returns `bytes` of zeroed memory, aligned to `alignment`, a power of two not less than a page. It
// is never used again, so what follows gets the same addresses whatever is freed before. Its home
// is the socket `socket`.
void* take(size_t bytes, size_t alignment, uint32_t socket);
// Gives the pages to the host; their addresses stay taken.
void give_back(void* address, size_t bytes);
// Bytes taken and not given back.
uint64_t taken_bytes();

// Two ranges of the same pages, as a ring has them: the lines of the second are those of the first.
void alias(const void* first, const void* second, size_t bytes);
// The line of which `line` is another name, or `line`.
uint32_t resolve_alias(uint32_t line);

// The socket whose memory a line lies in.
uint32_t home_of(uint32_t line);
void set_home(const void* address, size_t bytes, uint32_t socket);
// Page after page on the next of these sockets.
void interleave_homes(const void* address, size_t bytes, const std::vector<int>& sockets);

}  // namespace logjam::sim
