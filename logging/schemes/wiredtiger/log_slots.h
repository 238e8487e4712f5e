// WiredTiger's log slots: an LSN sequencer, and the position up to which the log has no hole.
// Workers *join* the active slot by a compare-and-swap that adds the length of their record: the
// slot's begin plus the bytes joined before is the record's position. A worker *closes* the slot
// when it has 128 KiB, and a thread that is about to write closes a shorter slot. Then the next
// slot of a pool becomes active. A worker *releases* its record in the slot when the record is
// filled. A closed slot whose records are all released is complete, and the log has no hole up to
// the end of the complete slots. The design is like Aether's consolidation array with one slot, but
// a group does not end when its leader gets the log's lock.
//
// One word of a slot has the joined bytes, the released bytes, and whether the slot is closed. So a
// worker that releases takes the word's cache line from the workers that join. A worker that loses
// the race for the word yields, and one that finds the slot closed for a long time sleeps
// (log_slot.c, __wt_log_slot_join).
//
// Protocol.
//   active_   number of the active slot; stored (release) under lock_, after the slot's state and
//             begin. Any thread loads it (acquire).
//   state     of a slot. Workers add to it (acq_rel); the holder of lock_ sets kClosed to end
//             joins. A worker that has read an old number may join the slot all the same: an open
//             slot is the active slot. A slot that is passed is kFree until it is used again.
//   begin     of a slot: stored under lock_ before the slot opens. A worker loads it after its
//             join. The slot is not used again before the worker has released its record.
//   passed_   number of the first slot that is not passed; stored (release) under passing_. The
//             holder of lock_ loads it (acquire) before it uses a slot again.
//   filled_   stored (release) under passing_; loaded (acquire) by any thread.
//
// passable() decides without the latch. A thread that closes a slot or releases a record fences,
// then loads `passed_`; pass() stores `passed_`, fences, then loads the next slot's state. So at
// least one of the two threads finds the slot complete. If a slot is used again while passable()
// reads its state, `passed_` has changed, and passable() begins again.
#pragma once

#include <array>

#include "platform/spin.h"

namespace logjam {

class LogSlots {
 public:
  explicit LogSlots(uint64_t capacity) : most_(std::min(kSlotBytes, capacity / 4)) {
    slots_[0].state.store(0, platform::memory_order_relaxed);
  }

  struct Joined {
    uint64_t begin;
    uint32_t slot;
  };
  // Joins the active slot with `bytes`. release() follows when the worker has filled the bytes.
  Joined join(uint32_t bytes) {
    LJ_ASSERT_IN_TESTS(bytes != 0 && bytes <= kBytesMask / 2);
    for (uint32_t looks = 0;;) {
      const uint64_t number = active();
      Slot& slot = nth(number);
      uint64_t state = slot.state.load(platform::memory_order_acquire);
      const bool closed = (state & kClosed) != 0;
      const bool full = !closed && joined(state) != 0 && joined(state) + bytes > most_;
      if (full && close(number)) continue;
      if (full) pass();  // all slots are in use
      if (!closed && !full &&
          slot.state.compare_exchange_strong(state, state + (uint64_t{bytes} << kJoinedShift),
                                             platform::memory_order_acq_rel,
                                             platform::memory_order_relaxed)) {
        return {slot.begin + joined(state), static_cast<uint32_t>(number % kSlots)};
      }
      if ((closed || full) && ++looks > kLooksBeforeSleep) {
        platform::sleep_ns(kSleepNs);
      } else {
        platform::yield();
      }
    }
  }
  void release(uint32_t slot, uint32_t bytes) {
    slots_[slot].state.fetch_add(bytes, platform::memory_order_acq_rel);
  }

  // Returns the bytes joined to the active slot. Any thread may call any function.
  uint64_t open_bytes() const { return joined(state_of(active())); }
  // Returns whether a closed slot is not passed yet.
  bool pending() const { return passed_.load(platform::memory_order_acquire) != active(); }
  // Closes the active slot if it has a record, and a slot of the pool is free.
  void close_active() {
    const uint64_t number = active();
    if (joined(state_of(number)) != 0) close(number);
  }
  // Passes the complete slots. Returns the end of the last complete slot.
  uint64_t pass() {
    if (passable()) {
      const platform::lock_guard<platform::SpinLock> hold(passing_);
      uint64_t number = passed_.load(platform::memory_order_relaxed);
      for (uint64_t state; complete(state = state_of(number));) {
        filled_.store(nth(number).begin + joined(state), platform::memory_order_release);
        nth(number).state.store(kFree, platform::memory_order_relaxed);
        passed_.store(++number, platform::memory_order_release);
        platform::full_fence();
      }
    }
    return filled_.load(platform::memory_order_acquire);
  }
  uint64_t closed() const { return active(); }

 private:
  static constexpr uint64_t kSlotBytes = 128 << 10;
  static constexpr uint32_t kSlots = 128, kLooksBeforeSleep = 1000;
  static constexpr uint64_t kSleepNs = 1'000'000;
  // A slot's state: released bytes, joined bytes, kClosed. A free slot is not open or complete.
  static constexpr unsigned kJoinedShift = 31;
  static constexpr uint64_t kBytesMask = (uint64_t{1} << kJoinedShift) - 1;
  static constexpr uint64_t kClosed = uint64_t{1} << 63, kFree = kClosed | 1;

  struct alignas(platform::kCacheLine) Slot {
    platform::atomic<uint64_t> state{kFree};
    uint64_t begin = 0;
  };

  static uint64_t joined(uint64_t state) { return state >> kJoinedShift & kBytesMask; }
  Slot& nth(uint64_t number) { return slots_[number % kSlots]; }
  uint64_t state_of(uint64_t number) const {
    return slots_[number % kSlots].state.load(platform::memory_order_acquire);
  }
  uint64_t active() const { return active_.load(platform::memory_order_acquire); }
  static bool complete(uint64_t state) {
    return (state & kClosed) != 0 && joined(state) == (state & kBytesMask);
  }

  // Closes slot `number`, if it is still active. Returns false if no slot is free.
  bool close(uint64_t number) {
    const platform::lock_guard<platform::SpinLock> hold(lock_);
    if (active_.load(platform::memory_order_relaxed) != number) return true;
    if (number + 1 - passed_.load(platform::memory_order_acquire) == kSlots) return false;
    const uint64_t state = nth(number).state.fetch_or(kClosed, platform::memory_order_acq_rel);
    nth(number + 1).begin = nth(number).begin + joined(state);
    nth(number + 1).state.store(0, platform::memory_order_release);
    active_.store(number + 1, platform::memory_order_release);
    return true;
  }
  // Returns whether the first slot that is not passed is complete.
  bool passable() const {
    if (!pending()) return false;
    platform::full_fence();
    for (;;) {
      const uint64_t passed = passed_.load(platform::memory_order_acquire);
      const bool is_complete = complete(state_of(passed));
      if (passed_.load(platform::memory_order_relaxed) == passed) return is_complete;
    }
  }

  const uint64_t most_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> active_{0};
  alignas(platform::kCacheLine) platform::SpinLock lock_;
  std::array<Slot, kSlots> slots_;
  alignas(platform::kCacheLine) platform::SpinLock passing_;
  platform::atomic<uint64_t> passed_{0}, filled_{0};
};

}  // namespace logjam
