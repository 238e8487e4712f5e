// The versions of rows that were overwritten, for transactions that read from a snapshot
// (cc/snapshot_reads.h). The present version of a row is in its tuple, as under all protocols.
//
// A version is visible to the snapshots from its begin stamp on and before its end stamp, as in
// Hekaton (Diaconu et al., SIGMOD 2013). The stamps are of the commit clock (commit_clock.h). Rows
// that were loaded or recovered have begin stamp 0.
//
// Protocol. Under these protocols Tuple::lock points to the row's newest old version, or is 0.
// The transaction that holds the tuple's lock bit makes an OldVersion from the present version, and
// stores the pointer (release) before it changes the row. Nobody changes an OldVersion afterwards.
// A reader loads the pointer (acquire). The next writer of the row replaces the pointer, and gives
// the replaced version to its reclaimer. The snapshot of this writer contains the version that the
// writer overwrites, so all snapshots that begin later contain that version, too. Only snapshots
// that began before the replacement can still read the replaced version. So its memory can be used
// again when each worker has been between two transactions since then (reclaimer.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/storage/tuple.h"
#include "platform/atomic.h"

namespace logjam {

// An old version's header. The row follows it, padded to 8 bytes.
struct OldVersion {
  uint64_t begin;      // the commit stamp of its writer
  uint64_t end;        // the commit stamp of the transaction that overwrote it
  uint64_t successor;  // under ssn: pi of that transaction (cc/serial_safety_net.cc)
  Version word;        // the tuple's version word while this version was present
  const OldVersion* older;

  std::byte* row() { return reinterpret_cast<std::byte*>(this + 1); }
  const std::byte* row() const { return reinterpret_cast<const std::byte*>(this + 1); }
};
static_assert(sizeof(OldVersion) == 40);

// Returns the newest old version of the row, or null. No removed tuple is asked.
inline const OldVersion* newest_old_version(const Tuple& tuple) {
  return reinterpret_cast<const OldVersion*>(tuple.lock.load(platform::memory_order_acquire));
}
// Returns the begin stamp of the present version.
inline uint64_t begin_stamp(const OldVersion* newest_old) {
  return newest_old == nullptr ? 0 : newest_old->end;
}

}  // namespace logjam
