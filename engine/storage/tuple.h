// A row in memory, and the one word that versions it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"

namespace logjam {

using Key = uint64_t;

// The version word: lock bit, absent bit, sequence number of the last writer.
//
// An absent tuple is a deleted row, or one whose insert has not committed. It stays in its index,
// with its sequence number, at least until the delete is durable (see reclaimer.h).
class Version {
 public:
  static constexpr uint64_t kLocked = uint64_t{1} << 63;
  static constexpr uint64_t kAbsent = uint64_t{1} << 62;
  static constexpr uint64_t kSequenceMask = kAbsent - 1;

  constexpr Version() = default;
  constexpr explicit Version(uint64_t word) : word_(word) {}
  constexpr Version(uint64_t sequence, bool absent) : word_(sequence | (absent ? kAbsent : 0)) {}

  constexpr uint64_t word() const { return word_; }
  constexpr uint64_t sequence() const { return word_ & kSequenceMask; }
  constexpr bool locked() const { return (word_ & kLocked) != 0; }
  constexpr bool absent() const { return (word_ & kAbsent) != 0; }
  constexpr Version unlocked() const { return Version(word_ & ~kLocked); }
  constexpr bool operator==(const Version&) const = default;

 private:
  uint64_t word_ = 0;
};

// Anything an index points to starts with its key.
struct Keyed {
  Key key;
};

// Protocol. `version`: who holds the lock bit (OCC) or the exclusive row lock (2PL) stores it, with
// release, after the row's bytes; readers load it with acquire before and, under OCC, again after
// copying the bytes. `lock`: a RowLock word (cc/row_lock.h), unused under OCC. `key` never changes.
// Taken out of its index, a tuple stays locked for good in both ways, until its memory is used
// anew. The row follows the header, 8-byte aligned and padded to 8 bytes.
struct Tuple : Keyed {
  platform::atomic<uint64_t> version;
  platform::atomic<uint64_t> lock;

  Tuple(Key k, Version v) : Keyed{k}, version(v.word()), lock(0) {}

  std::byte* row() { return reinterpret_cast<std::byte*>(this + 1); }
  const std::byte* row() const { return reinterpret_cast<const std::byte*>(this + 1); }
  Version load_version() const { return Version(version.load(platform::memory_order_acquire)); }
};
static_assert(sizeof(Tuple) == 24);

}  // namespace logjam
