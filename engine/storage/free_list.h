// Free memory blocks of one size. Any thread may free a block, and any thread may allocate it
// again.
//
// Each arena, which is to say each thread, has a part of the blocks, with a latch and a cache line
// of its own. Threads that share a part stand in line at its latch: with 32 parts and 256 cores the
// few blocks that rolled back transactions freed were enough for 73 % of all waits for cache lines
// (NewOrder and Payment, simulated). A thread that frees much and allocates little hands its part
// to the threads that need it, many blocks at once.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "engine/storage/arena.h"
#include "platform/atomic.h"
#include "platform/exploration.h"
#include "platform/spin.h"

namespace logjam {

// Protocol. A part's `lock` guards its list, which lives in the blocks themselves. Its `count` is
// written under the lock and read without it. A thread that reads an outdated small number takes
// new memory instead; a thread that reads an outdated larger number takes the lock and finds less.
class FreeList {
 public:
  // A part with fewer blocks is left to its own thread.
  static constexpr uint64_t kMany = 64;

  // Makes a list of blocks of `block_bytes` bytes, at least as many as a pointer.
  explicit FreeList(size_t block_bytes) : block_bytes_(block_bytes) {}

  // Frees `block`, which no other thread can reach. `arena` is the calling thread's.
  void free(void* block, const Arena& arena) {
    if (platform::forbid(block, block_bytes_)) return;
    if (!used_.load(platform::memory_order_relaxed)) {
      used_.store(true, platform::memory_order_relaxed);
    }
    Part& part = part_of(arena);
    part.lock.lock();
    part.first = new (block) Block{part.first};
    if (part.first->next == nullptr) part.last = part.first;
    add(part, 1);
    part.lock.unlock();
  }

  // Returns a free block or null. If the thread's part is empty, every kVisitOther-th call looks at
  // another part, and takes all its blocks if they are many. The next visit is to the same part
  // then, and otherwise to the next one. `arena` is the calling thread's, and counts the visits:
  // counters in the parts cost more (64 simulated cores, TPC-C, one seed: 15.9 and 14.8 M/s).
  void* allocate(Arena& arena) {
    if (!used_.load(platform::memory_order_relaxed)) return nullptr;
    Part& own = part_of(arena);
    if (void* block = take(own)) return block;
    Arena::Visits& visits = arena.visits();
    if (++visits.calls % kVisitOther != 0) return nullptr;
    Part& other = parts_[visits.part % std::min(kParts, Arena::made())];
    if (count_of(other) < kMany) {
      ++visits.part;
      return nullptr;
    }
    move_all(other, own);
    return take(own);
  }

  uint64_t count() const {
    uint64_t all = 0;
    for (const Part& part : parts_) all += count_of(part);
    return all;
  }

 private:
  struct Block {
    Block* next;
  };
  struct alignas(platform::kCacheLine) Part {
    platform::SpinLock lock;
    Block *first = nullptr, *last = nullptr;  // `last` means nothing if there is no block
    platform::atomic<uint64_t> count{0};
  };
  static constexpr uint32_t kParts = 256;
  static constexpr uint32_t kVisitOther = 16;

  Part& part_of(const Arena& arena) { return parts_[arena.number() % kParts]; }
  static uint64_t count_of(const Part& part) {
    return part.count.load(platform::memory_order_relaxed);
  }
  static void add(Part& part, uint64_t count) {
    part.count.store(count_of(part) + count, platform::memory_order_relaxed);
  }

  static void* take(Part& part) {
    if (count_of(part) == 0) return nullptr;
    part.lock.lock();
    Block* block = part.first;
    if (block != nullptr) {
      part.first = block->next;
      add(part, -uint64_t{1});
    }
    part.lock.unlock();
    return block;
  }

  static void move_all(Part& from, Part& to) {
    from.lock.lock();
    Block* const first = std::exchange(from.first, nullptr);
    Block* const last = from.last;
    const uint64_t count = count_of(from);
    from.count.store(0, platform::memory_order_relaxed);
    from.lock.unlock();
    if (first == nullptr) return;
    to.lock.lock();
    last->next = to.first;
    if (to.first == nullptr) to.last = last;
    to.first = first;
    add(to, count);
    to.lock.unlock();
  }

  const size_t block_bytes_;
  platform::atomic<bool> used_{false};  // a block was ever freed; most lists have none
  std::array<Part, kParts> parts_;
};

}  // namespace logjam
