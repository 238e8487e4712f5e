// A shared/exclusive lock in one word, in tuples and index nodes. 2PL only.
//
//   bit 63      held exclusively
//   bit 62      somebody sleeps until this lock is released
//   bits 46-61  number of shared holders
//   bits 0-45   the smallest age among the holders since the lock was last free; or, under
//               2pl-detect, the holders' slots (waits_for.h)
//
// A free lock is 0, exactly.
//
// Protocol. Any worker changes the word, by compare-and-swap (seq_cst: see the index-node argument
// in two_phase_locking.cc; on x86 that is what acquire costs as well). Releasing is a
// read-modify-write with release, so all that holders did is visible to whoever gets the lock next.
//
// Deadlock, under wait-die. An age is a time stamp: smaller is older; no two transactions share
// one, and a retried transaction keeps its own. A transaction may wait only if its age is no larger
// than the recorded one. The recorded age never exceeds the age of any holder (holders that left
// may have made it smaller), and a transaction waits for holders other than itself; so whoever
// waits is older than everybody it waits for. Waiting goes from older to younger only, which has no
// cycle. A lock taken over by an older holder while one waits makes that false for the moment:
// therefore the decision is taken again after every sleep, and a sleep is at most kMaxSleepNs long.
// An upgrading holder is covered: the recorded age is at most its own, so it waits only as the
// oldest.
//
// Deadlock, under detection. Whoever holds the lock is among its slots: a holder sets its own
// before it holds, and takes it out when it lets go, if its worker cannot hold the lock twice; with
// --elr=false it can, for what it has parked, and the slot stays until the lock is free.
//
// No starvation. While somebody sleeps, new shared holders are turned away, so the lock becomes
// free; and a transaction that dies keeps its age and is the oldest some day.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/park.h"

namespace logjam {

// The word, as it was at one moment.
class LockState {
 public:
  static constexpr uint64_t kExclusive = uint64_t{1} << 63;
  static constexpr uint64_t kSleepers = uint64_t{1} << 62;
  static constexpr int kSharedShift = 46;
  static constexpr uint64_t kOneShared = uint64_t{1} << kSharedShift;
  static constexpr uint64_t kMaxShared = 0xffff;
  static constexpr uint64_t kAgeMask = kOneShared - 1;

  constexpr LockState() = default;
  constexpr explicit LockState(uint64_t word) : word_(word) {}

  uint64_t word() const { return word_; }
  bool free() const { return word_ == 0; }
  bool exclusive() const { return (word_ & kExclusive) != 0; }
  bool sleepers() const { return (word_ & kSleepers) != 0; }
  uint64_t shared() const { return (word_ >> kSharedShift) & kMaxShared; }
  uint64_t oldest() const { return word_ & kAgeMask; }
  uint64_t slots() const { return word_ & kAgeMask; }

 private:
  uint64_t word_ = 0;
};

// What a holder leaves in the low bits: its age, or its slot.
class Holder {
 public:
  constexpr Holder(uint64_t age) : bits_(age) {}  // NOLINT: an age is a holder
  // `alone`: nobody else with this slot can hold the same lock.
  static constexpr Holder of_slot(uint64_t slot, bool alone) {
    Holder holder(slot);
    holder.is_slot_ = true;
    holder.alone_ = alone;
    return holder;
  }

  constexpr uint64_t bits() const { return bits_; }
  constexpr uint64_t beside(uint64_t others) const {
    return is_slot_ ? others | bits_ : std::min(others, bits_);
  }
  constexpr uint64_t gone_from(uint64_t all) const { return alone_ ? all & ~bits_ : all; }

 private:
  uint64_t bits_;
  bool is_slot_ = false;
  bool alone_ = false;
};

class RowLock {
 public:
  using Word = platform::atomic<uint64_t>;
  static constexpr uint64_t kMaxSleepNs = 1'000'000;

  explicit RowLock(Word& word) : word_(word) {}

  LockState state() const { return LockState(word_.load(platform::memory_order_seq_cst)); }

  // These return whether the lock was got; if not, `*seen` is what stood in the way. None waits.
  bool try_shared(Holder holder, LockState* seen) {
    uint64_t word = word_.load(platform::memory_order_relaxed);
    while (true) {
      *seen = LockState(word);
      if (seen->exclusive() || seen->sleepers() || seen->shared() == LockState::kMaxShared) {
        return false;
      }
      const uint64_t low = seen->free() ? holder.bits() : holder.beside(word & LockState::kAgeMask);
      const uint64_t next = ((word & ~LockState::kAgeMask) | low) + LockState::kOneShared;
      if (word_.compare_exchange_weak(word, next, platform::memory_order_seq_cst)) return true;
    }
  }
  bool try_exclusive(Holder holder, LockState* seen) {
    uint64_t word = 0;
    if (word_.compare_exchange_strong(word, LockState::kExclusive | holder.bits(),
                                      platform::memory_order_seq_cst)) {
      return true;
    }
    *seen = LockState(word);
    return false;
  }
  // The caller holds it shared.
  bool try_upgrade(LockState* seen) {
    uint64_t word = word_.load(platform::memory_order_relaxed);
    while (true) {
      *seen = LockState(word);
      if (seen->shared() != 1) return false;
      const uint64_t next = (word - LockState::kOneShared) | LockState::kExclusive;
      if (word_.compare_exchange_weak(word, next, platform::memory_order_seq_cst)) return true;
    }
  }

  // For a tuple nobody else can reach yet.
  void start_exclusive(Holder holder) {
    word_.store(LockState::kExclusive | holder.bits(), platform::memory_order_relaxed);
  }

  void release_shared(Holder holder = 0) {
    uint64_t word = word_.load(platform::memory_order_relaxed);
    while (true) {
      const LockState now(word);
      const uint64_t low = holder.gone_from(word & LockState::kAgeMask);
      const uint64_t next =
          now.shared() == 1 ? 0 : ((word & ~LockState::kAgeMask) | low) - LockState::kOneShared;
      if (word_.compare_exchange_weak(word, next, platform::memory_order_release,
                                      platform::memory_order_relaxed)) {
        if (now.sleepers()) wake();
        return;
      }
    }
  }
  void release_exclusive() {
    if (LockState(word_.exchange(0, platform::memory_order_release)).sleepers()) wake();
  }

  // Sleeping, after an attempt failed. The bed is read before that attempt: a release behind it
  // either changes the word, and sleep() returns at once, or finds the sleepers bit and changes the
  // bed.
  uint32_t bed() const { return bed_of(word_).load(platform::memory_order_acquire); }
  void sleep(uint32_t bed_before, LockState seen) {
    uint64_t word = seen.word();
    if (!seen.sleepers() && !word_.compare_exchange_strong(word, word | LockState::kSleepers,
                                                           platform::memory_order_relaxed)) {
      return;
    }
    platform::wait_on(bed_of(word_), bed_before, kMaxSleepNs);
  }

 private:
  // Locks share beds; a sleeper woken for another lock tries again and lies down.
  static platform::atomic<uint32_t>& bed_of(const Word& word) {
    constexpr int kBedBits = 8;
    static std::array<platform::Padded<platform::atomic<uint32_t>>, size_t{1} << kBedBits> beds;
    const uint64_t hash = reinterpret_cast<uintptr_t>(&word) * 0x9e3779b97f4a7c15;
    return *beds[hash >> (64 - kBedBits)];
  }
  void wake() {
    bed_of(word_).fetch_add(1, platform::memory_order_release);
    platform::wake_all(bed_of(word_));
  }

  Word& word_;
};

}  // namespace logjam
