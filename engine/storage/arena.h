// Memory for tuples and index nodes: bump allocation, never freed before the database is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"

namespace logjam {

// One thread's arena. Pages are huge where the kernel grants them and local to the socket of the
// thread that first allocates from them. Not thread-safe, but for allocated_bytes(). The pages
// outlive the arena: what was allocated belongs to the database, which lives as long as the process
// does its work.
class Arena {
 public:
  // `align` is a power of two, at most 64.
  void* allocate(size_t bytes, size_t align = 8);
  // Takes back the latest allocation, which nobody else has seen.
  void take_back(void* latest, size_t bytes);
  // May be asked by any thread: one writer, nothing is published through it.
  uint64_t allocated_bytes() const { return allocated_bytes_.load(platform::memory_order_relaxed); }

 private:
  // The first chunk is small and of ordinary pages: most arenas of most tests need no more.
  static constexpr size_t kFirstChunk = size_t{64} << 10;
  static constexpr size_t kChunk = size_t{8} << 20;
  void refill(size_t bytes);
  void count(uint64_t bytes) {
    allocated_bytes_.store(allocated_bytes() + bytes, platform::memory_order_relaxed);
  }

  std::byte* next_ = nullptr;
  std::byte* end_ = nullptr;
  platform::atomic<uint64_t> allocated_bytes_{0};
};

}  // namespace logjam
