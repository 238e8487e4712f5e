// Files as memory: a store to the mapping changes the file. Any thread may call any function here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace logjam::platform {

// Returns how far a mapped file may grow, in bytes.
uint64_t most_mapped_bytes();

// Maps most_mapped_bytes() of the file `fd` for reading and writing, also beyond its end, so that
// the file may grow without another mapping. On a file system with DAX, stores go to the medium
// itself. Returns null, with errno, if the kernel refuses.
std::byte* map_file(int fd);
// Unmaps what map_file() returned.
void unmap_file(std::byte* address);

}  // namespace logjam::platform
