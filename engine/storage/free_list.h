// Free memory blocks of one size. Any thread may free a block, and any thread may allocate it
// again.
//
// The blocks are in several parts, each with a latch and a cache line of its own. With a single
// part and 64 cores, TPC-C's inserts spent three quarters of all waits for cache lines on its line:
// a few blocks, freed by rolled back transactions, were enough for every insert to visit it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

#include "engine/storage/arena.h"
#include "platform/atomic.h"
#include "platform/exploration.h"
#include "platform/spin.h"

namespace logjam {

// Protocol. A part's `lock` guards its list, which lives in the blocks themselves. Its `count` is
// written under the lock and read without it. A thread that reads an outdated 0 takes new memory
// instead; a thread that reads an outdated larger number takes the lock and finds nothing.
class FreeList {
 public:
  // Makes a list of blocks of `block_bytes` bytes, at least as many as a pointer.
  explicit FreeList(size_t block_bytes) : block_bytes_(block_bytes) {}

  // Frees `block`, which no other thread can reach. `arena` is the calling thread's.
  void free(void* block, const Arena& arena) {
    if (platform::forbid(block, block_bytes_)) return;
    if (!used_.load(platform::memory_order_relaxed)) {
      used_.store(true, platform::memory_order_relaxed);
    }
    Part& part = part_of(&arena);
    part.lock.lock();
    part.first = new (block) Block{part.first};
    part.count.store(part.count.load(platform::memory_order_relaxed) + 1,
                     platform::memory_order_relaxed);
    part.lock.unlock();
  }

  // Returns a free block or null. Searches the caller's part and, on every kVisitOther-th call that
  // finds it empty, one other part (round robin), so that blocks freed by other threads are reused.
  // A visit on every call caused 40 % of all cache-line waits with 256 inserting cores (simulated).
  // The arena counts the calls: counters in the parts, with 8 cores for each, caused 36 %.
  void* allocate(Arena& arena) {
    if (!used_.load(platform::memory_order_relaxed)) return nullptr;
    if (void* block = take(part_of(&arena))) return block;
    const uint32_t next = arena.count_visit();
    return next % kVisitOther == 0 ? take(parts_[next / kVisitOther % kParts]) : nullptr;
  }

  uint64_t count() const {
    uint64_t all = 0;
    for (const Part& part : parts_) all += part.count.load(platform::memory_order_relaxed);
    return all;
  }

 private:
  struct Block {
    Block* next;
  };
  struct alignas(platform::kCacheLine) Part {
    platform::SpinLock lock;
    Block* first = nullptr;
    platform::atomic<uint64_t> count{0};
  };
  static constexpr uint32_t kParts = 32;
  static constexpr uint32_t kVisitOther = 16;

  Part& part_of(const void* address) {
    constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;  // Fibonacci hashing
    return parts_[reinterpret_cast<uintptr_t>(address) * kOdd >> 59];
  }
  static_assert(kParts == 1 << (64 - 59));

  static void* take(Part& part) {
    const uint64_t count = part.count.load(platform::memory_order_relaxed);
    if (count == 0) return nullptr;
    part.lock.lock();
    Block* block = part.first;
    if (block != nullptr) {
      part.first = block->next;
      part.count.store(part.count.load(platform::memory_order_relaxed) - 1,
                       platform::memory_order_relaxed);
    }
    part.lock.unlock();
    return block;
  }

  const size_t block_bytes_;
  platform::atomic<bool> used_{false};  // a block was ever freed; most lists have none
  std::array<Part, kParts> parts_;
};

}  // namespace logjam
