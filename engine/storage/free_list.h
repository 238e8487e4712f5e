// Pieces of memory of one size, given back by any thread and taken by any other.
#pragma once

#include <cstdint>
#include <new>

#include "platform/atomic.h"
#include "platform/spin.h"

namespace logjam {

// Protocol. `lock_` guards the list, which lives in the pieces themselves. `count_` is written
// under it and read without: whoever reads 0 too late or too early takes new memory, or the lock in
// vain.
class FreeList {
 public:
  // `piece` is at least a pointer large, and nobody else can reach it.
  void give(void* piece) {
    lock_.lock();
    first_ = new (piece) Piece{first_};
    count_.store(count() + 1, platform::memory_order_relaxed);
    lock_.unlock();
  }

  // Null if there is none.
  void* take() {
    if (count() == 0) return nullptr;
    lock_.lock();
    Piece* taken = first_;
    if (taken != nullptr) {
      first_ = taken->next;
      count_.store(count() - 1, platform::memory_order_relaxed);
    }
    lock_.unlock();
    return taken;
  }

  uint64_t count() const { return count_.load(platform::memory_order_relaxed); }

 private:
  struct Piece {
    Piece* next;
  };

  platform::SpinLock lock_;
  Piece* first_ = nullptr;
  platform::atomic<uint64_t> count_{0};
};

}  // namespace logjam
