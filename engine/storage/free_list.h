// Free memory blocks of one size. Any thread may free a block, and any thread may allocate it
// again.
#pragma once

#include <cstdint>
#include <new>

#include "platform/atomic.h"
#include "platform/spin.h"

namespace logjam {

// Protocol. `lock_` guards the list, which lives in the blocks themselves. `count_` is written
// under the lock and read without it. A thread that reads an outdated 0 takes new memory instead; a
// thread that reads an outdated larger number takes the lock in vain.
class FreeList {
 public:
  // `block` is at least as large as a pointer, and no other thread can reach it.
  void free(void* block) {
    lock_.lock();
    first_ = new (block) Block{first_};
    count_.store(count() + 1, platform::memory_order_relaxed);
    lock_.unlock();
  }

  // Returns a block, or null if the list is empty.
  void* allocate() {
    if (count() == 0) return nullptr;
    lock_.lock();
    Block* block = first_;
    if (block != nullptr) {
      first_ = block->next;
      count_.store(count() - 1, platform::memory_order_relaxed);
    }
    lock_.unlock();
    return block;
  }

  uint64_t count() const { return count_.load(platform::memory_order_relaxed); }

 private:
  struct Block {
    Block* next;
  };

  platform::SpinLock lock_;
  Block* first_ = nullptr;
  platform::atomic<uint64_t> count_{0};
};

}  // namespace logjam
