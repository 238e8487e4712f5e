// Functions that write the files of a log. Any thread may call any function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace logjam {

// Writes up to `count` bytes at `offset`, as pwrite() does, and returns as it does.
using WriteAt = long(int fd, const std::byte* bytes, size_t count, uint64_t offset);
WriteAt pwrite_unseen;
// Also syncs the bytes that it writes: one system call and, if the device can force a write through
// its cache, one request to the device.
WriteAt pwrite_synced_unseen;

// Writes all of `bytes` at `offset`. Returns 0 or errno; EIO if a write takes no byte.
int write_fully(int fd, uint64_t offset, std::span<const std::byte> bytes,
                WriteAt* write_at = pwrite_unseen);

// Returns 1 MiB of zeros, aligned for direct writes.
std::span<const std::byte> zeros();

// Makes the file's length, which may be any number after an earlier run, a multiple of 4096, as
// direct writes and mappings need. Sets `bytes` to the length. Returns 0 or errno.
int pad_to_page(int fd, uint64_t* bytes);

// Makes the name of the file at `path` durable: calls `sync` for its directory. Returns 0 or errno.
int sync_directory_of(const std::string& path, int (*sync)(int fd));

}  // namespace logjam
