// Functions that write the files of a log. Any thread may call any function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace logjam {

// Writes all of `bytes` at `offset` of an open file of the kernel. Returns 0 or errno.
int write_fully(int fd, uint64_t offset, std::span<const std::byte> bytes);

// Returns 1 MiB of zeros, aligned for direct writes.
std::span<const std::byte> zeros();

// Makes the length of a file of platform::files(), which may be any number after an earlier run, a
// multiple of 4096, as direct writes and mappings need. Sets `bytes` to the length. Returns 0 or
// errno.
int pad_to_page(int file, uint64_t* bytes);

}  // namespace logjam
