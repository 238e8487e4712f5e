// Files as memory: what is stored there is in the file. Any thread may call any function here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace logjam::platform {

// How far a mapped file may grow.
uint64_t most_mapped_bytes();

// Maps most_mapped_bytes() of the file `fd` to read and write, past its end too, so that the file
// may grow without another mapping. On a file system with DAX, stores go to the medium itself.
// Returns null, with errno, if the kernel refuses.
std::byte* map_file(int fd);
// Unmaps what map_file() returned.
void unmap_file(std::byte* address);

}  // namespace logjam::platform
