// The ledger's history: what each transaction read and wrote, and which transactions were
// acknowledged, in a file that survives SIGKILL (proof/history/file.h).
//
//   payload of an entry := AttemptHeader, reads x Access, writes x Access
//
// At its serialization point, between intend() and the publication of its log record, an attempt
// learns whose writes it overwrites blindly. It then stores these writers into its entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/workload.h"
#include "proof/history/file.h"
#include "proof/history/history_files.h"
#include "proof/ledger/rows.h"

namespace logjam::ledger {

// The kind of an access, and what the attempt knew of the row.
enum class Op : uint64_t {
  kRead,    // read the row
  kUpdate,  // read the row, and overwrote it
  kBlind,   // overwrote the row without reading it; a slot's row was present
  kInsert,  // inserted the row of a slot, which was absent
  kErase,   // erased the row of a slot, which was present
};
constexpr bool reads_row(Op op) { return op == Op::kRead || op == Op::kUpdate; }

// Access::writer of a blind write until the attempt's serialization point: not known yet.
inline constexpr TransactionId kNotYet = ~TransactionId{0};

// One access of an attempt to a key: a row of the ledger, or a cell with its slot. `writer` is the
// attempt whose write was read or overwritten. If reads_row(op), the row named this writer;
// otherwise the client asked CellOrder for the writer while the row was locked.
struct Access {
  Key key = 0;
  TransactionId writer = 0;
  Op op = Op::kRead;
};

// An observation that no serial execution allows: a violation if the attempt commits, but harmless
// if it aborts, because an optimistic protocol lets an attempt that is bound to abort continue.
enum class Mismatch : uint32_t {
  kNone,
  kTornRow,         // a row's filler does not follow from its other fields
  kMissingRow,      // a row of the ledger or a cell was not found; none is ever erased
  kMissingEntry,    // the entry (slot) was not found, but its ledger row (cell) says it is present
  kUnexpected,      // the entry was found, but its ledger row says that it is absent
  kForeignEntry,    // the entry is of another generation or writer than its ledger row says
  kDuplicateEntry,  // two entries of one key were found
};
// Returns the observation as words after "having seen", such as "two entries of one key".
const char* describe(Mismatch mismatch);

// One execution of a transaction, as it goes into the history.
struct Attempt {
  TransactionId id = 0;
  Mismatch mismatch = Mismatch::kNone;
  Key mismatch_key = 0;
  std::vector<Access> reads, writes;  // an update is in `writes` only

  void clear(TransactionId new_id) {
    id = new_id;
    mismatch = Mismatch::kNone;
    reads.clear();
    writes.clear();
  }
  void complain(Mismatch what, Key key) {
    if (mismatch == Mismatch::kNone) mismatch = what, mismatch_key = key;
  }
};

// The keys of a history. The first `slots` cells have a slot.
struct KeySpace {
  uint64_t ledger = 0, cells = 0, slots = 0;

  uint64_t all() const { return ledger + cells; }
  bool is_cell(Key key) const { return key >= ledger; }
  bool has_slot(Key key) const { return is_cell(key) && key < ledger + slots; }
  // Returns whether the initial load inserts the slot's row. It does so if the number is even.
  bool slot_loaded(Key key) const { return (key - ledger) % 2 == 0; }
  // Returns "ledger key 7" or "cell 7", for human readers.
  std::string name(Key key) const;
};

// The parameter `workload` in the files of the ledger's histories.
inline constexpr const char* kHistoryOf = "ledger";

HistoryFileParameters history_parameters(const KeySpace& keys, const HistoryOrigin& origin);

// Records that the attempt is about to commit. Call full_for_accesses() first.
void intend(HistoryArea& area, const Attempt& attempt);
// Records in the last intend()'s entry that write number `index` overwrites a write of `writer`.
void found_overwritten(HistoryArea& area, size_t index, TransactionId writer);
bool full_for_accesses(const HistoryArea& area, size_t accesses);

struct RecordedTransaction {
  TransactionId id = 0;
  uint32_t life = 0;  // an index into History::lives
  bool acknowledged = false;
  bool promised = false;  // acknowledged, and must not be lost (R8)
  Mismatch mismatch = Mismatch::kNone;
  Key mismatch_key = 0;
  std::span<const Access> reads, writes;
};

// A history of all lives, read from their files. The spans of `transactions` point into the mapped
// files, which stay mapped while a copy of the History exists.
struct History {
  std::string error;  // why a file cannot be used, in one sentence; empty if all can
  KeySpace keys;
  std::string unsafe;  // why acknowledged transactions may be lost (R8); empty if they may not
  bool serializable = true;  // false: the protocol of a life only isolates snapshots
  std::vector<HistoryFile> lives;
  std::vector<RecordedTransaction> transactions;  // sorted by id

  bool started() const { return error.empty() && lives.back().started; }

  static constexpr uint32_t kNone = ~uint32_t{0};
  // Returns the index of `id` in `transactions`, or kNone.
  uint32_t find(TransactionId id) const;
  // Returns the id, and its life if there are several, for human readers.
  std::string name(const RecordedTransaction& transaction) const;
};
// Reads a history. Its processes must have ended. Returns errors in History::error.
History open_history(const std::string& path);

}  // namespace logjam::ledger
