// Pages from the kernel.
#pragma once

#include <cstddef>
#include <cstdint>

namespace logjam::platform {

// Zeroed, 2 MiB aligned, huge pages asked for, physically placed by first touch (so on the socket
// of the thread that first writes it). Ends the process with a sentence when there is none left.
void* map_huge(size_t bytes);
// Gives back what map_huge(bytes) gave.
void unmap_huge(void* address, size_t bytes);
// Zeroed ordinary pages, never given back: for what may stay small.
void* map_pages(size_t bytes);

// What the machine could still give without swapping; the largest number there is if it does not
// say.
uint64_t available_bytes();
// What this process has in memory.
uint64_t resident_bytes();

// A ring whose bytes [size, 2*size) are the same memory as [0, size): a hole of up to `size` bytes
// starting anywhere is contiguous. `size` is rounded up to a multiple of the page size.
class MirroredMemory {
 public:
  explicit MirroredMemory(size_t bytes);
  ~MirroredMemory();
  MirroredMemory(const MirroredMemory&) = delete;
  MirroredMemory& operator=(const MirroredMemory&) = delete;

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  std::byte* data_;
  size_t size_;
};

}  // namespace logjam::platform
