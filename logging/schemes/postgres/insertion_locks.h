// PostgreSQL's insertion locks (since 9.4): an LSN sequencer, and the position up to which the log
// has no hole. A worker inserts under one of a few locks: it takes the lock, reserves its bytes
// under a spin lock, fills them, and releases the lock. So there are never more holes than locks. A
// thread that wants to write looks at all locks, and writes up to the least `inserting_at`, a
// position before which the lock's holder inserts nothing.
//
// A worker takes the same lock as for its last record. If this lock is busy, the worker waits for
// it, and takes the following lock for its next record. So workers spread over the locks, and a
// lone worker stays with one lock, which remains in the worker's cache.
//
// In PostgreSQL the holder announces no position at first, and flushers sleep until the lock is
// free. Here look() does not wait: the holder first announces the end of the log at the time when
// it took the lock. In PostgreSQL and here the holder announces its exact position before it sleeps
// for room in the buffer, so that the writes that make room do not wait for this holder's record.
//
// Protocol.
//   position_     the end of the reserved bytes; stored (release) under position_lock_.
//   inserting_at  stored (release) by the lock's holder: a bound before it reserves, then perhaps
//                 its exact position, and kNone after the fill; loaded (acquire) by look().
//   finished_     raised (acq_rel) to the position that look() finds; loaded (acquire). A later
//                 look() may see a holder's old bound, and find a smaller position. The larger
//                 position stays correct.
//
// Why look() passes no hole. It loads position_ first, and then the locks. Let a record lie before
// that value of position_. The record's worker stored a bound, and then, under position_lock_, a
// position_. look() acquires this or a later store under position_lock_. So look() sees the bound,
// or a later value of this inserting_at:
//   * the exact position, which is (like the bound) at most the record's begin: look() stops there;
//   * kNone after the fill, or a value of a later holder, which has acquired the lock from this
//     worker. All these stores are releases, so look() sees the record's bytes.
#pragma once

#include <deque>

#include "logging/schemes/common/handoff_lock.h"
#include "logging/schemes/common/worker_states.h"

namespace logjam {

class InsertionLocks {
 public:
  InsertionLocks(uint32_t locks, uint32_t workers) : workers_(workers) {
    for (uint32_t i = 0; i < locks; ++i) locks_.emplace_back(workers);
    for (uint32_t worker = 0; worker < workers; ++worker) workers_[worker].next = worker % locks;
  }

  // Takes an insertion lock and reserves `bytes`. If fits(end) returns false, announces the exact
  // position. Returns this position. Only worker `worker` calls reserve() and release().
  template <class Fits>
  uint64_t reserve(uint32_t worker, uint64_t bytes,
                   const Fits& fits) LJ_NOT_ANALYSED {  // release() unlocks
    WorkerState& me = workers_[worker];
    Lock& mine = locks_[me.held = me.next];
    if (!mine.lock.try_lock()) {
      me.next = (me.next + 1) % static_cast<uint32_t>(locks_.size());
      mine.lock.lock();
    }
    mine.inserting_at.store(position_.load(platform::memory_order_relaxed),
                            platform::memory_order_release);
    position_lock_.lock();
    const uint64_t begin = position_.load(platform::memory_order_relaxed);
    position_.store(begin + bytes, platform::memory_order_release);
    position_lock_.unlock();
    if (!fits(begin + bytes)) mine.inserting_at.store(begin, platform::memory_order_release);
    return begin;
  }
  void release(uint32_t worker) LJ_NOT_ANALYSED {
    Lock& mine = locks_[workers_[worker].held];
    LJ_ASSERT_IN_TESTS(mine.inserting_at.load(platform::memory_order_relaxed) != kNone);
    mine.inserting_at.store(kNone, platform::memory_order_release);
    mine.lock.unlock();
  }

  // Returns the position up to which the log has no hole. Any thread may call it.
  uint64_t look() {
    uint64_t first = position_.load(platform::memory_order_acquire);
    for (const Lock& one : locks_) {
      first = std::min(first, one.inserting_at.load(platform::memory_order_acquire));
    }
    platform::atomic_max(finished_, first);
    return finished_.load(platform::memory_order_acquire);
  }

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};

  struct alignas(platform::kCacheLine) Lock {
    explicit Lock(uint32_t workers) : lock(workers) {}
    [[no_unique_address]] HandoffLock lock;
    platform::atomic<uint64_t> inserting_at{kNone};
  };
  struct WorkerState {
    uint32_t next = 0, held = 0;
  };

  std::deque<Lock> locks_;
  WorkerStates<WorkerState> workers_;
  // Lies in one cache line with position_, which the lock's holder then has in its cache.
  alignas(platform::kCacheLine) platform::SpinLock position_lock_;
  platform::atomic<uint64_t> position_{0};
  alignas(platform::kCacheLine) platform::atomic<uint64_t> finished_{0};
};

}  // namespace logjam
