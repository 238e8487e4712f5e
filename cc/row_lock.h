// A shared/exclusive lock in one word, for tuples and index nodes. Only 2PL uses it.
//
//   bit 63      held exclusively
//   bit 62      the lock refuses new shared holders until it is free, because a transaction sleeps
//               on this lock, or because a writer often died at this lock (wait-die)
//   bits 46-61  number of shared holders
//   bits 0-45   under wait-die, the smallest age of all holders since the lock was last free;
//               under 2pl-detect, the exclusive holder's worker number plus 1, or 0 if the lock is
//               shared
//
// The word of a free lock is 0.
//
// Protocol. Any worker changes the word, by compare-and-swap. The order is seq_cst, which the
// index-node proof in two_phase_locking.cc needs; on x86 it costs the same as acquire. A release is
// a read-modify-write with release, so the next holder sees all stores of the earlier holders.
//
// Deadlock under wait-die. An age is a time stamp: a smaller age is older, no two transactions have
// the same age, and a retried transaction keeps its age. A transaction may wait only if its age is
// not larger than the recorded age, which never exceeds the age of any holder. So a transaction,
// also one that upgrades its own lock, waits only for younger holders, and no cycle exists. An
// older transaction may take the lock while a younger one sleeps on it. From then on the younger
// one may not wait. Therefore a transaction decides again after every sleep, and no sleep is longer
// than kMaxSleepNs.
//
// Deadlock under 2pl-detect. Workers announce their locks, and waiters find cycles (waits_for.h).
//
// No starvation. While a transaction sleeps, the lock refuses new shared holders, so the lock
// becomes free. A transaction that dies keeps its age, so in time it becomes the oldest. The oldest
// transaction may still die: overlapping readers keep the lock from becoming free, and the recorded
// age may be that of a reader that released the lock long ago. So a writer that has died several
// times calls turn_readers_away() before it dies again. Then the lock becomes free, and the next
// holders record their ages.
//
// turn_readers_away() adds no deadlock. No refused reader waits for the writer, which dies and
// releases all its locks: the lock's last holder clears bit 62 when it releases the lock. So a
// refused reader waits only for holders, under the same condition as any other transaction.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/park.h"
#include "platform/random.h"

namespace logjam {

// The value of a lock word at one moment.
class LockState {
 public:
  static constexpr uint64_t kExclusive = uint64_t{1} << 63;
  static constexpr uint64_t kNoNewReaders = uint64_t{1} << 62;
  static constexpr int kSharedShift = 46;
  static constexpr uint64_t kOneShared = uint64_t{1} << kSharedShift;
  static constexpr uint64_t kMaxShared = 0xffff;
  static constexpr uint64_t kAgeMask = kOneShared - 1;

  constexpr LockState() = default;
  constexpr explicit LockState(uint64_t word) : word_(word) {}

  uint64_t word() const { return word_; }
  bool free() const { return word_ == 0; }
  bool exclusive() const { return (word_ & kExclusive) != 0; }
  bool no_new_readers() const { return (word_ & kNoNewReaders) != 0; }
  uint64_t shared() const { return (word_ >> kSharedShift) & kMaxShared; }
  uint64_t oldest_age() const { return word_ & kAgeMask; }
  // Returns the number of the exclusive holder plus 1, or 0. Call it only under 2pl-detect.
  uint64_t writer() const { return word_ & kAgeMask; }

 private:
  uint64_t word_ = 0;
};

// The value that a holder stores in bits 0-45 of the word.
class Holder {
 public:
  constexpr Holder(uint64_t age) : bits_(age), alone_(age) {}  // NOLINT: an age is a holder
  static constexpr Holder of_worker(uint32_t worker) {
    Holder holder(0);
    holder.alone_ = uint64_t{worker} + 1;
    return holder;
  }

  constexpr uint64_t bits() const { return bits_; }
  constexpr uint64_t alone() const { return alone_; }
  // Returns the word's low bits after the only shared holder has upgraded its lock. `shared` is
  // the value of these bits before the upgrade.
  constexpr uint64_t alone_after(uint64_t shared) const { return shared == 0 ? alone_ : shared; }

 private:
  uint64_t bits_;
  uint64_t alone_;
};

class RowLock {
 public:
  using Word = platform::atomic<uint64_t>;
  static constexpr uint64_t kMaxSleepNs = 1'000'000;

  explicit RowLock(Word& word) : word_(word) {}

  LockState state() const { return LockState(word_.load(platform::memory_order_seq_cst)); }

  // Tries to take the lock. On failure, sets `*seen` to the conflicting state and returns false.
  // Never waits. try_upgrade() makes the caller's shared lock exclusive.
  bool try_shared(Holder holder, LockState* seen) {
    uint64_t word = word_.load(platform::memory_order_relaxed);
    while (true) {
      *seen = LockState(word);
      LJ_ASSERT_IN_TESTS(holder.bits() <= LockState::kAgeMask);
      LJ_ASSERT_IN_TESTS(!seen->exclusive() || seen->shared() == 0);
      if (seen->exclusive() || seen->no_new_readers() || seen->shared() == LockState::kMaxShared) {
        return false;
      }
      const uint64_t low_bits =
          seen->free() ? holder.bits() : std::min(holder.bits(), word & LockState::kAgeMask);
      const uint64_t next = ((word & ~LockState::kAgeMask) | low_bits) + LockState::kOneShared;
      if (word_.compare_exchange_weak(word, next, platform::memory_order_seq_cst)) return true;
    }
  }
  bool try_exclusive(Holder holder, LockState* seen) {
    uint64_t word = 0;
    if (word_.compare_exchange_strong(word, LockState::kExclusive | holder.alone(),
                                      platform::memory_order_seq_cst)) {
      return true;
    }
    *seen = LockState(word);
    return false;
  }
  bool try_upgrade(Holder holder, LockState* seen) {
    uint64_t word = word_.load(platform::memory_order_relaxed);
    while (true) {
      *seen = LockState(word);
      LJ_ASSERT_IN_TESTS(seen->shared() >= 1 && !seen->exclusive());
      if (seen->shared() != 1) return false;
      const uint64_t low_bits = holder.alone_after(word & LockState::kAgeMask);
      const uint64_t next = ((word & ~LockState::kAgeMask) | LockState::kExclusive | low_bits) -
                            LockState::kOneShared;
      if (word_.compare_exchange_weak(word, next, platform::memory_order_seq_cst)) return true;
    }
  }

  // Refuses new shared holders until the lock is free. Has no effect without a shared holder.
  void turn_readers_away() {
    uint64_t word = word_.load(platform::memory_order_relaxed);
    while (LockState(word).shared() != 0 &&
           !word_.compare_exchange_weak(word, word | LockState::kNoNewReaders,
                                        platform::memory_order_relaxed)) {
    }
  }

  // Locks a tuple that no other worker can reach yet.
  void init_exclusive(Holder holder) {
    LJ_ASSERT_IN_TESTS(state().free());
    word_.store(LockState::kExclusive | holder.alone(), platform::memory_order_relaxed);
  }

  void release_shared() {
    uint64_t word = word_.load(platform::memory_order_relaxed);
    while (true) {
      const LockState now(word);
      LJ_ASSERT_IN_TESTS(now.shared() >= 1 && !now.exclusive());
      const uint64_t next = now.shared() == 1 ? 0 : word - LockState::kOneShared;
      if (word_.compare_exchange_weak(word, next, platform::memory_order_release,
                                      platform::memory_order_relaxed)) {
        if (now.no_new_readers()) wake();
        return;
      }
    }
  }
  void release_exclusive() {
    const LockState before(word_.exchange(0, platform::memory_order_release));
    LJ_ASSERT_IN_TESTS(before.exclusive() && before.shared() == 0);
    if (before.no_new_readers()) wake();
  }

  // Returns the state of the lock's parker, for sleep(). Call parker() before the attempt to lock.
  uint32_t parker() const { return parker_of(word_).load(platform::memory_order_acquire); }
  // Sleeps until the lock is released, at most kMaxSleepNs. `seen` comes from the failed attempt to
  // lock. No wake-up is lost. If the lock is released before sleep() sets bit 62, the word is not
  // `seen`. If the lock is released later, the release finds bit 62 and changes the parker. In both
  // cases sleep() ends at once.
  void sleep(uint32_t parker_before, LockState seen) {
    LJ_ASSERT(!seen.free());
    uint64_t word = seen.word();
    if (!seen.no_new_readers() &&
        !word_.compare_exchange_strong(word, word | LockState::kNoNewReaders,
                                       platform::memory_order_relaxed)) {
      return;
    }
    platform::wait_on(parker_of(word_), parker_before, kMaxSleepNs);
  }

 private:
  // Returns the lock's parker. Other locks may have the same parker, so a release may also wake
  // transactions that sleep on other locks.
  static platform::atomic<uint32_t>& parker_of(const Word& word) {
    constexpr int kParkerBits = 8;
    static std::array<platform::Padded<platform::atomic<uint32_t>>, size_t{1} << kParkerBits>
        parkers;
    const uint64_t hash = reinterpret_cast<uintptr_t>(&word) * platform::kGoldenRatio;
    return *parkers[hash >> (64 - kParkerBits)];
  }
  void wake() {
    parker_of(word_).fetch_add(1, platform::memory_order_release);
    platform::wake_all(parker_of(word_));
  }

  Word& word_;
};

}  // namespace logjam
