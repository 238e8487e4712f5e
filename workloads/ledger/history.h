// What was read, written and acknowledged, in a file that survives SIGKILL.
//
// The file is mapped shared: a store is in the kernel's page cache once the processor retired it,
// so a killed process loses nothing of it (a power cut would; the history is not the log).
//
//   file  := header page, then one area for each worker
//   area  := entry*, ended by a state of 0 or the end of the area
//   entry := EntryHeader, reads x Access, writes x Access
//
// Protocol. Each area has one writer, the worker, and no reader until the process has ended. A
// reader may come after a kill at any instruction, so an entry's `state` is stored last (release):
// 0 -> kIntended when all of the entry is there and the next state word is 0; kIntended ->
// kAcknowledged later, by one aligned store. The entry of an aborted attempt goes back to 0 before
// its place is used again. Of the header page, `started` and `finished` are stored by anyone.
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

// A read: whose write was seen. A write: whose write was overwritten.
struct Access {
  Key key = 0;
  TransactionId writer = 0;
};

// Something a transaction saw that no serial execution shows. Harmless in an attempt that aborts
// (optimistic protocols let doomed transactions see such things), a violation if it commits.
enum class Mismatch : uint32_t {
  kNone,
  kTornRow,         // a row's filler does not follow from the rest
  kMissingRow,      // a loaded row that nobody erases is not there
  kMissingEntry,    // the ledger says present, the entry was not found
  kUnexpected,      // an entry was found that the ledger says is not there
  kForeignEntry,    // the entry is not the one the ledger row was written with
  kDuplicateEntry,  // two entries of one key at once
};
const char* describe(Mismatch mismatch);

struct Attempt {
  TransactionId id = 0;
  Mismatch mismatch = Mismatch::kNone;
  Key mismatch_key = 0;
  std::vector<Access> reads, writes;

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

struct HistoryParameters {
  uint64_t keys = 0;
  std::string unsafe;  // not empty: why what was acknowledged may be lost (R8)
  std::string run;     // the flags, for people
};

inline constexpr uint64_t kHistoryHeaderBytes = 4096;

// One worker's part of a history being written.
class HistoryArea {
 public:
  HistoryArea(std::byte* begin, size_t bytes) : begin_(begin), bytes_(bytes) {}

  // The attempt is about to commit.
  void intend(const Attempt& attempt);
  // The attempt last intended was aborted after all.
  void retract();
  void acknowledge(TransactionId id);
  // Whether an attempt of so many accesses may not fit any more.
  bool full_for(size_t accesses) const;

 private:
  struct Pending {
    TransactionId id;
    size_t offset;
  };
  std::byte* begin_;
  size_t bytes_;
  size_t used_ = 0;
  std::deque<Pending> pending_;
};

class HistoryWriter {
 public:
  // Creates or replaces the file; ends the process with a sentence if it cannot.
  HistoryWriter(const std::string& path, uint32_t workers, uint64_t bytes,
                const HistoryParameters& parameters);
  ~HistoryWriter();
  HistoryWriter(const HistoryWriter&) = delete;
  HistoryWriter& operator=(const HistoryWriter&) = delete;

  HistoryArea& area(uint32_t worker) { return areas_[worker]; }
  const std::string& path() const { return path_; }
  // The first transaction runs: from here on a kill is worth something.
  void mark_started();
  // All that was intended is settled, and durable: a check may ask for all of it.
  void mark_finished();

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

// A history read back. Spans point into the mapped file, which lives as long as any copy.
struct History {
  std::string error;  // one sentence; empty if the rest is good
  HistoryParameters parameters;
  uint32_t workers = 0;
  bool started = false, finished = false;
  std::vector<RecordedTransaction> transactions;  // by id

  static constexpr uint32_t kNone = ~uint32_t{0};
  uint32_t find(TransactionId id) const;  // index, or kNone

  std::shared_ptr<const void> memory;
};
History open_history(const std::string& path);

}  // namespace logjam::ledger
