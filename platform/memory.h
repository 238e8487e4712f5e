// Pages from the kernel, and files as memory. Any thread may call any function of this file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace logjam::platform {

// The NUMA node on which memory lies: a node's number (node_of_core()), or one of these.
inline constexpr int kFirstTouch = -1;  // each page lies where its first writer runs
inline constexpr int kEveryNode = -2;   // interleaved over the nodes on which workers run

// Asks the kernel to put the pages of [address, address + bytes) on node `node`, also existing
// pages. Does nothing on a machine of one node, and where the kernel refuses.
void place_on_node(void* address, size_t bytes, int node);
// Spreads the pages over the nodes on which workers run; otherwise the same as place_on_node().
void interleave(void* address, size_t bytes);
// Asks the kernel for pages on the nodes with these numbers, as the kernel counts. With one number
// the pages come from that node as long as it has memory; with several, from each in turn. Returns
// whether the kernel agrees. Only the native machine has this function.
bool place_on_numbered(void* address, size_t bytes, const std::vector<int>& numbers);
inline void place(void* address, size_t bytes, int where) {
  if (where == kEveryNode) return interleave(address, bytes);
  if (where != kFirstTouch) place_on_node(address, bytes, where);
}

// Returns at least `bytes` zeros, aligned to 2 MiB, in huge pages of 2 MiB if possible, placed by
// first touch. The caller owns this memory. Ends the process with one sentence if the kernel
// refuses.
void* map_huge(size_t bytes);
// Maps memory as map_huge(bytes) does, placed as `where` says. Returns when the kernel has
// allocated and zeroed the first `prefaulted` bytes, or as many as possible until `until_ns`
// (now_ns): the caller takes no page faults there. Returns null on the simulated machine.
void* map_prefaulted(size_t bytes, size_t prefaulted, int where, uint64_t until_ns);
void unmap_huge(void* address, size_t bytes);
// Returns zeroed ordinary pages, which stay mapped until the process ends. They suit memory that
// may stay small. Ends the process with one sentence if the kernel refuses the mapping.
void* map_pages(size_t bytes);

// Returns how many bytes this process can still get (memory_left of limits.h), or the largest
// uint64_t if the kernel does not say. (Simulated: what the host can give.)
uint64_t available_bytes();
uint64_t resident_bytes();

// A ring buffer whose bytes [size, 2*size) are the same memory as [0, size): a hole of up to `size`
// bytes is contiguous wherever it starts. The constructor rounds `size` up to a multiple of the
// page size, and allocates all pages, placed as `where` says. Uses huge pages if `size` is a
// multiple of 2 MiB. Ends the process with one sentence if the memory cannot be mapped.
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

uint64_t most_mapped_bytes();
// Maps most_mapped_bytes() of the file `fd` for reading and writing: a store to the mapping changes
// the file, which may grow without another mapping. On a file system with DAX, stores go to the
// medium itself. Returns null, with errno, if the kernel refuses.
std::byte* map_file(int fd);
void unmap_file(std::byte* address);

}  // namespace logjam::platform
