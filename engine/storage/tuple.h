// A row in memory, and its version word.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/racy_copy.h"

namespace logjam {

using Key = uint64_t;

// The version word: lock bit, absent bit, and the sequence number of the last writer. An absent
// tuple is an erased row, or a row whose insert has not committed (reclaimer.h).
class Version {
 public:
  static constexpr uint64_t kLocked = uint64_t{1} << 63;
  static constexpr uint64_t kAbsent = uint64_t{1} << 62;
  static constexpr uint64_t kSequenceMask = kAbsent - 1;
  // The word of a tuple that was removed from its index: locked, and never unlocked. Its sequence
  // number is larger than that of any other tuple.
  static constexpr uint64_t kRemoved = ~uint64_t{0};

  constexpr Version() = default;
  constexpr explicit Version(uint64_t word) : word_(word) {}
  constexpr Version(uint64_t sequence, bool absent) : word_(sequence | (absent ? kAbsent : 0)) {
    LJ_ASSERT_IN_TESTS(sequence <= kSequenceMask);
  }

  // Returns whether a writer may have this sequence number. (A forged log may contain any number.)
  static constexpr bool is_sequence(uint64_t number) { return number < kSequenceMask; }

  constexpr uint64_t word() const { return word_; }
  constexpr uint64_t sequence() const { return word_ & kSequenceMask; }
  constexpr bool locked() const { return (word_ & kLocked) != 0; }
  constexpr bool absent() const { return (word_ & kAbsent) != 0; }
  constexpr bool removed() const { return word_ == kRemoved; }
  constexpr Version unlocked() const { return Version(word_ & ~kLocked); }
  constexpr bool operator==(const Version&) const = default;

 private:
  uint64_t word_ = 0;
};

// The RowLock word of removed tuples and nodes: exclusive, without a holder, and never released.
inline constexpr uint64_t kLockedForever = uint64_t{1} << 63;

// The head of every entry of an index.
struct Keyed {
  Key key;
};

// A row's header. The row follows it, 8-byte aligned and padded to 8 bytes.
//
// Protocol. The transaction that holds the lock bit (OCC) or the exclusive row lock (2PL) stores
// `version`, with release and after the row's bytes. Readers load `version` with acquire before
// they copy the bytes and, under OCC, again afterwards. `lock` is a RowLock word (cc/row_lock.h)
// under 2PL; during the replay of a log it points to the ranges that wait at the tuple
// (engine/recovery/applier.h). `key` never changes. A tuple that was removed from its index stays
// locked in both ways (Version::kRemoved, kLockedForever) until its memory is used again.
struct Tuple : Keyed {
  platform::atomic<uint64_t> version;
  platform::atomic<uint64_t> lock;

  Tuple(Key k, Version v) : Keyed{k}, version(v.word()), lock(0) {}

  std::byte* row() { return reinterpret_cast<std::byte*>(this + 1); }
  const std::byte* row() const { return reinterpret_cast<const std::byte*>(this + 1); }
  Version load_version() const { return Version(version.load(platform::memory_order_acquire)); }
};
static_assert(sizeof(Tuple) == 24);

// Copies the row of `tuple` to `to`, unless the tuple is absent. `to` has space for `row_bytes`,
// rounded up to a multiple of 8. Sets `version`. Needs no transaction and no lock; transactions of
// any protocol may run. Returns false if a transaction has the tuple locked, or wrote it during the
// copy. A removed tuple counts as absent, with sequence number 0.
//
// Protocol. A writer has the tuple locked from before it reserves its log record until it has
// installed the row and then the new version: under OCC by the lock bit, under 2PL by an exclusive
// RowLock word. So if the tuple was unlocked, with the same version, before and after the copy, the
// copy is the row of the last committed writer. A reader that begins after a transaction's log
// record is reserved finds the tuple locked, or finds the transaction's write.
inline bool try_copy_committed(const Tuple& tuple, uint32_t row_bytes, std::byte* to,
                               Version* version) {
  LJ_ASSERT_IN_TESTS(reinterpret_cast<uintptr_t>(to) % 8 == 0);
  // The bit of an exclusive lock in a RowLock word.
  constexpr uint64_t kExclusive = kLockedForever;
  *version = tuple.load_version();
  if (version->removed()) {
    *version = Version(0, true);
    return true;
  }
  if (version->locked()) return false;
  if ((tuple.lock.load(platform::memory_order_acquire) & kExclusive) != 0) return false;
  if (!version->absent()) platform::racy_load(to, tuple.row(), row_bytes);
  // Acquire: a reader that finds the lock released must also find the version stored before.
  if ((tuple.lock.load(platform::memory_order_acquire) & kExclusive) != 0 ||
      tuple.version.load(platform::memory_order_relaxed) != version->word()) {
    return false;
  }
  if (!version->absent()) platform::racy_load_is_whole(tuple.row(), row_bytes);
  return true;
}

}  // namespace logjam
