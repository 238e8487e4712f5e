// A file that records what each transaction read and wrote, and which ones were acknowledged. The
// file survives SIGKILL.
//
// The file is mapped shared. A store is in the kernel's page cache as soon as the processor has
// retired it, so a killed process loses none of its stores. A power cut would lose them, but the
// history is not the log.
//
//   file  := header page, then one area for each worker
//   area  := entry*, ended by a state of 0 or the end of the area
//   entry := EntryHeader, reads x Access, writes x Access
//
// Protocol. An area has one writer, its worker. Readers open the file after the workers have ended,
// or after the process was killed at any instruction. So an entry's `state` is stored last, with
// release: it goes from 0 to kIntended when the entry is complete and the next state word is 0,
// and from kIntended to kAcknowledged later, by one aligned store. The state of an aborted
// attempt's entry goes back to 0 before its bytes are used again. Between intend() and the
// publication of its log record, an attempt learns whose writes it overwrites blindly, and stores
// that into its entry. So the entries of all transactions that a recovery can find are complete. In
// the header page, any thread may store `started` and `finished`, which only ever go from 0 to 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "platform/atomic.h"
#include "workloads/ledger/rows.h"

namespace logjam::ledger {

// What an access did, and what the attempt knew of the row.
enum class Op : uint64_t {
  kRead,    // read the row
  kUpdate,  // read the row, and overwrote it
  kBlind,   // overwrote the row without reading it; a slot's row was there
  kInsert,  // inserted the row of a slot, which was not there
  kErase,   // erased the row of a slot, which was there
};
constexpr bool reads_row(Op op) { return op == Op::kRead || op == Op::kUpdate; }

// The writer of an access that has not reached its serialization point.
inline constexpr TransactionId kNotYet = ~TransactionId{0};

// One access of an attempt to a key: a row of the ledger, or a cell with its slot. `writer` is the
// attempt whose write was read, or was overwritten. The attempt has seen it if reads_row(op);
// otherwise it is what a lock on the row had shown (CellOrder).
struct Access {
  Key key = 0;
  TransactionId writer = 0;
  Op op = Op::kRead;
};

// An observation that no serial execution allows. It is harmless in an attempt that aborts, since
// optimistic protocols let attempts run on that will abort. It is a violation in an attempt that
// commits.
enum class Mismatch : uint32_t {
  kNone,
  kTornRow,         // a row's filler does not follow from its other fields
  kMissingRow,      // a row of the ledger or a cell was not found, though none is ever erased
  kMissingEntry,    // the entry (slot) was not found, but its ledger row (cell) says it is present
  kUnexpected,      // the entry was found, but its ledger row says that it is not present
  kForeignEntry,    // the entry is of another generation or writer than its ledger row says
  kDuplicateEntry,  // two entries of one key were found
};
// What was seen, in words that follow "having seen".
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
  // Records the first mismatch of the attempt.
  void complain(Mismatch what, Key key) {
    if (mismatch == Mismatch::kNone) mismatch = what, mismatch_key = key;
  }
};

// Which keys there are. The first `slots` cells have a slot.
struct KeySpace {
  uint64_t ledger = 0, cells = 0, slots = 0;

  uint64_t all() const { return ledger + cells; }
  bool is_cell(Key key) const { return key >= ledger; }
  bool has_slot(Key key) const { return is_cell(key) && key < ledger + slots; }
  // The initial load has every slot with an even number.
  bool slot_loaded(Key key) const { return (key - ledger) % 2 == 0; }
  // For human readers: "ledger key 7", "cell 7".
  std::string name(Key key) const;
};

struct HistoryParameters {
  KeySpace keys;
  std::string unsafe;  // why acknowledged transactions may be lost (R8); empty if they may not
  std::string run;     // the flags, for human readers
};

inline constexpr uint64_t kHistoryHeaderBytes = 4096;

// One worker's part of a history that is being written. Only the worker's thread may call it.
class HistoryArea {
 public:
  HistoryArea(std::byte* begin, size_t bytes) : begin_(begin), bytes_(bytes) {}

  // Records that the attempt is about to commit. The caller has asked full_for() before.
  void intend(const Attempt& attempt);
  // Records that the attempt last intended overwrites a write of `writer`, by its write `index`.
  void found_overwritten(size_t index, TransactionId writer);
  // Removes the attempt last intended: its commit was refused.
  void retract();
  // Records that `id`, which was intended before, is acknowledged. Ends the process with
  // kExitViolation if `id` was not intended, or was acknowledged already.
  void acknowledge(TransactionId id);
  // Whether an attempt with so many accesses does not fit any more.
  bool full_for(size_t accesses) const;

 private:
  // An entry in state kIntended.
  struct Pending {
    TransactionId id;
    size_t offset;
  };
  std::byte* begin_;
  size_t bytes_;
  size_t used_ = 0;
  std::deque<Pending> pending_;
};

// The file of a run. Any thread may call record_start() and record_end().
class HistoryWriter {
 public:
  // Creates or replaces the file `path` of about `bytes` bytes, divided among the workers. If the
  // file cannot be created, the process ends with one sentence.
  HistoryWriter(const std::string& path, uint32_t workers, uint64_t bytes,
                const HistoryParameters& parameters);
  ~HistoryWriter();
  HistoryWriter(const HistoryWriter&) = delete;
  HistoryWriter& operator=(const HistoryWriter&) = delete;

  // The area belongs to this object.
  HistoryArea& area(uint32_t worker) { return areas_[worker]; }
  const std::string& path() const { return path_; }
  // Records that transactions run: a crash test may kill the process from now on.
  void record_start();
  // Records that the run ended by itself: every committed transaction is durable and acknowledged.
  // A check may then demand that the database holds exactly these, even after an unsafe run.
  void record_end();

 private:
  std::string path_;
  std::byte* memory_;
  size_t bytes_;
  std::vector<HistoryArea> areas_;
};

struct RecordedTransaction {
  TransactionId id = 0;
  bool acknowledged = false;
  Mismatch mismatch = Mismatch::kNone;
  Key mismatch_key = 0;
  std::span<const Access> reads, writes;
};

// A history read from its file. The spans of `transactions` point into the mapped file, which stays
// mapped as long as a copy of the History exists.
struct History {
  std::string error;  // why the file cannot be used, in one sentence; empty if it can
  HistoryParameters parameters;
  uint32_t workers = 0;
  bool started = false, finished = false;
  std::vector<RecordedTransaction> transactions;  // sorted by id

  static constexpr uint32_t kNone = ~uint32_t{0};
  // The index of `id` in `transactions`, or kNone.
  uint32_t find(TransactionId id) const;

  std::shared_ptr<const void> memory;  // the mapped file
};
// Reads a history whose process has ended. Errors are returned in History::error.
History open_history(const std::string& path);

}  // namespace logjam::ledger
