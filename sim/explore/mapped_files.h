// Mapped files of a disk in memory: non-volatile memory under the explorer. A mapping is memory of
// the region. When the program writes a line back (platform/persist.h), a synced write copies the
// line to the file; the process may crash during this write. A real cache may also evict a line
// before the write-back: after a crash evict_lines() of cli/explore.cc copies some random lines.
// Only the one host thread calls these functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace logjam::sim {

// Returns whether the open file lies on a disk in memory, so that the kernel cannot map it.
bool is_in_memory(int file);
// Fills the memory at `base` with the file's content. From now on write_back_lines() copies lines
// of this memory to the file. Returns 0 or an errno.
int begin_mapping(int file, std::byte* base, uint64_t most_bytes);
// Ends the mapping at `base`. Returns whether there was a mapping.
bool end_mapping(const std::byte* base);

// Copies the lines of a range to their file, if they lie in a mapping. May switch fibers.
void write_back_lines(const void* address, size_t bytes);
// Forgets all mappings, because another disk replaces the disk of their files.
void forget_mappings();

}  // namespace logjam::sim
