// Memory for tuples and index nodes, allocated by moving a pointer and kept until the process ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/memory.h"

namespace logjam {

// The arena of one thread; other threads may call allocated_bytes() and number(). Its pages are
// huge where the kernel grants them.
class Arena {
 public:
  // Places the arena's pages on NUMA node `node` (platform::place).
  void lie_on(int node) {
    LJ_ASSERT(next_ == nullptr && prefaulted_.empty());
    node_ = node;
  }
  // Takes about `bytes` from the kernel, so that allocate() does not wait for the kernel later.
  // Stops early at `until_ns` (platform::now_ns). Has no effect on the simulated machine.
  void prefault(uint64_t bytes, uint64_t until_ns);
  // Returns `bytes` bytes, zeroed except where free() took back an earlier allocation. Ends the
  // process with one sentence if the kernel has no memory left.
  void* allocate(size_t bytes, size_t align = 8);
  // Frees `latest`, which no other thread knows. Returns false if it is not the latest allocation.
  bool free(void* latest, size_t bytes);
  uint64_t allocated_bytes() const { return allocated_bytes_.load(platform::memory_order_relaxed); }

  // The thread's visits to other threads' parts of free lists (free_list.h).
  struct Visits {
    uint32_t calls = 0;  // calls that found the thread's part empty
    uint32_t part = 0;   // the part of the next visit
  };
  Visits& visits() { return visits_; }

  // Returns the arena's number. The process numbers its arenas from 0.
  uint32_t number() const { return number_; }
  static uint32_t made() { return made_.load(platform::memory_order_relaxed); }

 private:
  // The size of the first chunk, which has ordinary pages and is enough for most tests.
  static constexpr size_t kFirstChunk = size_t{64} << 10;
  static constexpr size_t kChunk = size_t{8} << 20;
  void refill(size_t bytes);
  void count(uint64_t bytes) {
    allocated_bytes_.store(allocated_bytes() + bytes, platform::memory_order_relaxed);
  }

  static inline platform::atomic<uint32_t> made_{0};
  const uint32_t number_ = made_.fetch_add(1, platform::memory_order_relaxed);
  int node_ = platform::kFirstTouch;
  std::vector<std::byte*> prefaulted_;  // chunks of kChunk bytes, all zero
  std::byte* next_ = nullptr;
  std::byte* end_ = nullptr;
  Visits visits_;
  platform::atomic<uint64_t> allocated_bytes_{0};
};

}  // namespace logjam
