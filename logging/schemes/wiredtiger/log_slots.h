// WiredTiger's log slots: an LSN sequencer, and the position up to which the log has no hole.
// Workers *join* the active slot by a compare-and-swap that adds the length of their record: the
// slot's begin plus the bytes joined before is the record's position. A worker *closes* the slot
// when it has 128 KiB, and a thread that is about to write closes a shorter slot. Then the next
// slot of a pool becomes active. A worker *releases* its record in the slot when the record is
// filled. A closed slot whose records are all released is complete, and the log has no hole up to
// the end of the complete slots. The design is like Aether's consolidation array with one slot, but
// a group does not end when its leader gets the log's lock.
//
// Here one word has the active slot's number and the joined bytes; WiredTiger has a word in each
// slot. Poplar's segment index (common/segment_index.h) tells which slots are complete.
//
// Protocol.
//   active_   number of the active slot, kClosed, bytes joined. Workers add to it (acq_rel). The
//             holder of lock_ sets kClosed to end joins, then stores the next number (release).
//   begins_   of a slot: stored under lock_ before the slot's number is in active_. A worker loads
//             it after the join. The entry is not reused before the worker has released its record.
//   slots_    closed under lock_, passed under passing_.
//   filled_   stored (release) under passing_; loaded (acquire) by any thread.
#pragma once

#include <array>

#include "logging/schemes/common/segment_index.h"
#include "platform/spin.h"

namespace logjam {

class LogSlots {
 public:
  explicit LogSlots(uint64_t capacity)
      : most_(static_cast<uint32_t>(std::min(kSlotBytes, capacity / 4))) {}

  struct Joined {
    uint64_t begin;
    uint32_t slot;
  };
  // Joins the active slot with `bytes`. release() follows when the worker has filled the bytes.
  Joined join(uint32_t bytes) {
    LJ_ASSERT_IN_TESTS(bytes != 0 && bytes < kClosed / 2);
    uint64_t word = active_.load(platform::memory_order_acquire);
    for (platform::SpinWait wait;;) {
      if ((word & kClosed) != 0) {
        wait.once();
        word = active_.load(platform::memory_order_acquire);
      } else if (joined(word) != 0 && joined(word) + bytes > most_) {
        if (!close(word)) {  // all slots are in use
          pass();
          wait.once();
        }
        word = active_.load(platform::memory_order_acquire);
      } else if (active_.compare_exchange_weak(word, word + bytes, platform::memory_order_acq_rel,
                                               platform::memory_order_acquire)) {
        const uint32_t slot = slot_of(word);
        return {begins_[slot] + joined(word), slot};
      }
    }
  }
  void release(uint32_t slot, uint32_t bytes) { slots_.filled(slot, bytes); }

  // Returns the bytes joined to the active slot. Any thread may call any function.
  uint64_t open_bytes() const { return joined(active_.load(platform::memory_order_relaxed)); }
  bool pending() const { return slots_.pending(); }
  // Closes the active slot if it has a record, and a slot of the pool is free.
  void close_active() {
    const uint64_t word = active_.load(platform::memory_order_acquire);
    if ((word & kClosed) == 0 && joined(word) != 0) close(word);
  }
  // Passes the complete slots. Returns the end of the last complete slot.
  uint64_t pass() {
    if (slots_.passable()) {
      const platform::lock_guard<platform::SpinLock> hold(passing_);
      slots_.advance(
          [&](uint64_t end, uint64_t) { filled_.store(end, platform::memory_order_release); });
    }
    return filled_.load(platform::memory_order_acquire);
  }
  uint64_t closed() const { return slots_.closed(); }

 private:
  static constexpr uint64_t kSlotBytes = 128 << 10;
  static constexpr uint32_t kSlots = 128;
  static constexpr uint64_t kClosed = uint64_t{1} << 32;
  static constexpr unsigned kNumberShift = 33;

  static uint64_t joined(uint64_t word) { return word & (kClosed - 1); }
  static uint32_t slot_of(uint64_t word) {
    return static_cast<uint32_t>(word >> kNumberShift) % kSlots;
  }

  // Closes the active slot, if it is still the slot in `seen`. Returns false if no slot is free.
  bool close(uint64_t seen) {
    const platform::lock_guard<platform::SpinLock> hold(lock_);
    const bool free = !slots_.full();
    const uint64_t number = seen >> kNumberShift;
    if (free && active_.load(platform::memory_order_relaxed) >> kNumberShift == number) {
      const uint64_t bytes = joined(active_.fetch_or(kClosed, platform::memory_order_acq_rel));
      const uint64_t end = begins_[slot_of(seen)] + bytes;
      slots_.close(bytes, end, end);
      const uint64_t next = (number + 1) << kNumberShift;
      begins_[slot_of(next)] = end;
      active_.store(next, platform::memory_order_release);
    }
    return free;
  }

  const uint32_t most_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> active_{0};
  alignas(platform::kCacheLine) platform::SpinLock lock_;
  std::array<uint64_t, kSlots> begins_{};
  SegmentIndex slots_{kSlots - 2};
  alignas(platform::kCacheLine) platform::SpinLock passing_;
  platform::atomic<uint64_t> filled_{0};
};

}  // namespace logjam
