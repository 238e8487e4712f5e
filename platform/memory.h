// Pages from the kernel. Any thread may call any function of this file.
#pragma once

#include <cstddef>
#include <cstdint>

namespace logjam::platform {

// Which NUMA node memory lies on: the number of a node (as node_of_core() counts), or one of these.
inline constexpr int kFirstTouch = -1;  // each page where the thread runs that first writes it
inline constexpr int kEveryNode = -2;   // interleaved over the nodes on which workers run

// Ask the kernel to place the pages of [address, address + bytes), also those that exist already.
// `address` is a page's. On a machine of one node they do nothing, and where the kernel refuses,
// the pages stay as they are. The simulated machine has other definitions (the native ones are in
// memory_node.cc), and callers say what they would want even where there is one node.
void place_on_node(void* address, size_t bytes, int node);
void interleave(void* address, size_t bytes);
// One of the two, or nothing for kFirstTouch.
inline void place(void* address, size_t bytes, int where) {
  if (where == kEveryNode) return interleave(address, bytes);
  if (where != kFirstTouch) place_on_node(address, bytes, where);
}

// Returns at least `bytes` bytes of zeroed memory, 2 MiB aligned, for which huge pages are
// requested. It is placed by first touch, unless place() says otherwise. Ends the process with one
// sentence if the kernel refuses the mapping. The caller owns the memory.
void* map_huge(size_t bytes);
// Unmaps what map_huge(bytes) returned; `bytes` is the same number.
void unmap_huge(void* address, size_t bytes);
// Returns zeroed ordinary pages, for memory that may stay small. They stay mapped until the process
// ends. Ends the process with one sentence if the kernel refuses the mapping.
void* map_pages(size_t bytes);

// Bytes that the machine can still give without swapping (MemAvailable), or the largest uint64_t if
// the kernel does not report that number.
uint64_t available_bytes();
// Bytes that this process has resident in memory.
uint64_t resident_bytes();

// A ring buffer whose bytes [size, 2*size) are the same memory as [0, size). A hole of up to `size`
// bytes is therefore contiguous wherever it starts. The constructor rounds `size` up to a multiple
// of the page size, and ends the process with one sentence if the memory cannot be mapped. A
// multiple of 2 MiB gets huge pages, if the kernel gives them. All pages are there from the start,
// placed as `where` says.
class MirroredMemory {
 public:
  explicit MirroredMemory(size_t bytes, int where = kFirstTouch);
  ~MirroredMemory();
  MirroredMemory(const MirroredMemory&) = delete;
  MirroredMemory& operator=(const MirroredMemory&) = delete;

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  void* whole_;
  size_t mapped_;
  std::byte* data_;
  size_t size_;
};

}  // namespace logjam::platform
