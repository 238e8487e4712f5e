// Reads a row while transactions of any protocol run, without a transaction and without a lock.
//
// Protocol. A writer has the tuple locked from before it reserves its log record until it has
// installed the row: under OCC by the lock bit of the version word, under 2PL by an exclusive
// RowLock word. It stores the row, and then the new version, before it unlocks the tuple. So a copy
// is the row of the last committed writer if the tuple was unlocked, with the same version, before
// and after the copy. A reader that is ordered after the reservation of a transaction's log record
// finds the tuple locked, or that transaction's write in place.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/storage/index.h"
#include "engine/storage/tuple.h"
#include "platform/racy_copy.h"

namespace logjam {

// Copies the row of `tuple`, unless it is absent, to `to`, which is 8-byte aligned and has room for
// `row_bytes` padded to 8. Sets `version`. Returns false if a transaction has the tuple locked, or
// wrote it meanwhile: the caller tries again. A tuple that was removed from its index counts as
// absent, with sequence number 0. Any thread may call it.
inline bool try_copy_committed(const Tuple& tuple, uint32_t row_bytes, std::byte* to,
                               Version* version) {
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
  if ((tuple.lock.load(platform::memory_order_relaxed) & kExclusive) != 0 ||
      tuple.version.load(platform::memory_order_relaxed) != version->word()) {
    return false;
  }
  if (!version->absent()) platform::racy_load_is_whole(tuple.row(), row_bytes);
  return true;
}

}  // namespace logjam
