// PostgreSQL's insertion locks (since 9.4): an LSN sequencer, and the position up to which the log
// has no hole. A worker inserts under one of a few locks: it takes the lock, reserves its bytes
// under a spin lock, fills them, and releases the lock. So there are never more holes than locks. A
// thread that wants to write looks at all locks, and writes up to the least position at which a
// holder may be inserting.
//
// A worker takes the lock that it took last. If that lock was busy, it waits, and tries the
// following one the next time. So workers spread over the locks, and a worker alone stays with one
// lock, which its cache then has.
//
// `inserting_at` of a lock is a position before which its holder inserts nothing. PostgreSQL's
// holder announces none at first, and its flushers sleep until the lock is free. Here look() does
// not wait: the holder announces the end of the log at the time when it took the lock. In
// PostgreSQL and here the holder announces its exact position before it sleeps for room in the
// buffer. So what others must write before there is room does not wait for its record.
//
// Protocol.
//   position_     the end of what is reserved. Stored under position_lock_ (release); any thread
//                 loads it, look() with acquire.
//   inserting_at  stored (release) by the holder of its lock: a bound before it reserves, maybe its
//                 exact position, and kNone after it has filled its bytes; loaded (acquire) by
//                 look().
//   finished_     raised (acq_rel) to what a look has found; loaded (acquire). A holder may store a
//                 bound late, when a look has already found a larger position, so a look alone may
//                 be smaller than the one before. The larger one stays true: all that is reserved
//                 after it lies after it.
//
// Why a look passes no hole. It loads position_ first, and then the locks. Let a record lie before
// that value of position_. Its worker stored a bound, and then, under position_lock_, a position_.
// The look acquires that store, or a later one, whose worker had taken position_lock_ after this
// worker released it. So the look sees the bound, or what was stored in this inserting_at later:
//   * the exact position, which is no larger than the record's begin, as the bound: the look stops;
//   * kNone after the fill, or what a later holder of the lock stored. That holder had acquired the
//     lock from this worker. All are release stores, so the look sees the record's bytes.
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

  // Takes an insertion lock and reserves `bytes`. Announces their position if `fits(end)` says that
  // the ring has no room for them yet. Returns the position at which they begin. Only worker
  // `worker` calls it, and release().
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
  // Releases the worker's insertion lock, after its bytes are filled.
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
  // In one line, which the holder of position_lock_ has.
  alignas(platform::kCacheLine) platform::SpinLock position_lock_;
  platform::atomic<uint64_t> position_{0};
  alignas(platform::kCacheLine) platform::atomic<uint64_t> finished_{0};
};

}  // namespace logjam
