// A list of free memory blocks of one size.
//
// Each thread has a part of the blocks, with its own latch and cache line. With only 32 parts for
// 256 cores, the few blocks of transactions that rolled back caused 73 % of all waits for cache
// lines (NewOrder and Payment, simulated). If a thread frees many blocks and allocates few, other
// threads take many blocks at once from its part.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "engine/storage/arena.h"
#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/exploration.h"
#include "platform/spin.h"
#include "platform/thread_annotations.h"

namespace logjam {

// Protocol. A part's list lives in the blocks themselves. Its `count` is written under the lock and
// read without it. A thread that reads an outdated count takes new memory, or finds fewer blocks.
class FreeList {
 public:
  // Other threads take no blocks from a part that has fewer blocks than this.
  static constexpr uint64_t kMany = 64;

  explicit FreeList(size_t block_bytes) : block_bytes_(block_bytes) {
    LJ_ASSERT(block_bytes >= sizeof(Block));
  }

  // Frees `block`, which no other thread can reach. `arena` belongs to the calling thread.
  void free(void* block, const Arena& arena) {
    if (platform::forbid(block, block_bytes_)) return;
    if (!used_.load(platform::memory_order_relaxed)) {
      used_.store(true, platform::memory_order_relaxed);
    }
    Part& part = part_of(arena);
    const platform::lock_guard<platform::SpinLock> hold(part.lock);
    part.first = new (block) Block{part.first};
    if (part.first->next == nullptr) part.last = part.first;
    add(part, 1);
  }

  // Returns a free block or null. If the thread's part is empty, every kVisitOther-th call visits
  // another part. If that part has at least kMany blocks, takes all of them; otherwise the next
  // visit goes to the next part. `arena` belongs to the calling thread, and counts the visits:
  // counters in the parts would cost more (TPC-C on 64 simulated cores, one seed: 14.8 instead of
  // 15.9 M transactions/s).
  void* allocate(Arena& arena) {
    return used_.load(platform::memory_order_relaxed) ? take_free(arena) : nullptr;
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
    Block* first LJ_GUARDED_BY(lock) = nullptr;
    Block* last LJ_GUARDED_BY(lock) = nullptr;  // meaningless if there is no block
    platform::atomic<uint64_t> count{0};
  };
  static constexpr uint32_t kParts = 256;
  static constexpr uint32_t kVisitOther = 16;

  void* take_free(Arena& arena) {
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

  Part& part_of(const Arena& arena) { return parts_[arena.number() % kParts]; }
  static uint64_t count_of(const Part& part) {
    return part.count.load(platform::memory_order_relaxed);
  }
  static void add(Part& part, uint64_t count) LJ_REQUIRES(part.lock) {
    part.count.store(count_of(part) + count, platform::memory_order_relaxed);
  }

  static void* take(Part& part) {
    if (count_of(part) == 0) return nullptr;
    const platform::lock_guard<platform::SpinLock> hold(part.lock);
    Block* block = part.first;
    if (block != nullptr) {
      part.first = block->next;
      add(part, -uint64_t{1});
    }
    return block;
  }

  static void move_all(Part& from, Part& to) {
    LJ_ASSERT(&from != &to);
    from.lock.lock();
    Block* const first = std::exchange(from.first, nullptr);
    Block* const last = from.last;
    const uint64_t count = count_of(from);
    from.count.store(0, platform::memory_order_relaxed);
    from.lock.unlock();
    if (first == nullptr) return;
    const platform::lock_guard<platform::SpinLock> hold(to.lock);
    last->next = to.first;
    if (to.first == nullptr) to.last = last;
    to.first = first;
    add(to, count);
  }

  const size_t block_bytes_;
  platform::atomic<bool> used_{false};  // true from the first free() on
  std::array<Part, kParts> parts_;
};

}  // namespace logjam
