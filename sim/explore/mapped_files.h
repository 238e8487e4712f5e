// Mapped files of a disk in memory: non-volatile memory under the explorer. A mapping is memory of
// the region. Its lines reach the file when the program writes them back (platform/persist.h), as a
// synced write, in which the process may crash. Caches also evict lines before that; the judge of a
// crash draws which ones.
//
// Only the one host thread calls these functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace logjam::sim {

// Returns whether the open file is one of a disk in memory, which the kernel cannot map.
bool is_in_memory(int file);
// Fills the memory at `base` with the file's content, and lets its lines reach the file from now
// on. Returns 0 or an errno.
int begin_mapping(int file, std::byte* base, uint64_t most_bytes);
// Ends the mapping at `base`, if it is one. Returns whether it was.
bool end_mapping(const std::byte* base);

// Writes the lines of a range to their file, if they lie in a mapping. May switch.
void write_back_lines(const void* address, size_t bytes);
// Forgets all mappings, because another disk takes the place of theirs.
void forget_mappings();
// Calls `with` for each mapping: with its file and its memory.
void for_each_mapping(const std::function<void(int, const std::byte*)>& with);

}  // namespace logjam::sim
