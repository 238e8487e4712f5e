// A file that records what each transaction of a run did, and which transactions were acknowledged.
// The file survives SIGKILL. A run that continues another run has a file of its own
// (history_files.h).
//
// The file is mapped shared. A store is in the kernel's page cache as soon as the processor has
// retired the store, so a killed process loses no store. Histories do not survive a power cut.
//
//   file  := header page, then one area for each worker
//   area  := a counter for each transaction type, then entry*, ended by a state of 0 or the end of
//            the area
//   entry := EntryHeader, payload
//
// The kind of history gives the payload its meaning: the ledger records accesses
// (proof/ledger/history.h), other workloads record the rows that they write (with_history.h).
//
// Protocol. An area has one writer, its worker. Readers open the file after the workers have ended,
// or after the process was killed at any instruction. So an entry's `state` is stored last, with
// release. The state becomes kIntended when the entry is complete and the next state word is 0, and
// later becomes kAcknowledged, by one aligned store. The state of an aborted attempt's entry
// becomes 0 again before the entry's bytes are used again. The worker may change a payload
// until the log record of its attempt is published. So the entries of all transactions that a
// recovery can find are complete. Counters are stored relaxed. Any thread may store `started` and
// `finished` in the header page, which change only from 0 to 1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/fatal.h"
#include "platform/most_workers.h"

namespace logjam {

// worker << 48 | the number, from 1, of the worker's attempt or transaction. 0: the initial load.
using TransactionId = uint64_t;

static_assert(platform::kMostWorkers <= 1 << 16);
constexpr TransactionId make_id(uint32_t worker, uint64_t count) {
  return uint64_t{worker} << 48 | count;
}
constexpr uint32_t worker_of(TransactionId id) { return static_cast<uint32_t>(id >> 48); }
constexpr uint64_t count_of(TransactionId id) { return id & ((uint64_t{1} << 48) - 1); }
// Returns the id as "worker:count", for human readers.
std::string show(TransactionId id);

inline constexpr uint64_t kHistoryHeaderBytes = 4096;
// The first bytes of the files of all versions.
inline constexpr std::string_view kHistoryBeginning = "logjamH";
inline constexpr size_t kMostHistoryCounters = 16;

struct HistoryFileParameters {
  std::string workload;
  uint32_t counters = 0;              // of each worker
  std::array<uint64_t, 3> keys = {};  // the ledger's KeySpace
  std::string unsafe = {};            // why acknowledged transactions may be lost (R8), or empty
  uint32_t ordinal = 1;               // the number of the run in its log
  uint32_t after = 0;                 // the last earlier run that logged something; 0: none
  uint64_t log = 0;                   // the log's identity
  bool serializable = true;           // whether the protocol promises a serial order
};

// One worker's area of a history. Only this worker may use it. The ids of its entries ascend.
class HistoryArea {
 public:
  HistoryArea(std::byte* begin, size_t bytes, uint32_t counters);

  // Returns the address for the payload of the next entry. Call full_for() first.
  std::byte* next_payload() { return payload_at(used_); }
  // Records that the attempt `id` is about to commit. Call it after its payload is written.
  void intend(TransactionId id, size_t payload_bytes);
  std::byte* intended_payload() {
    LJ_ASSERT(!pending_.empty());
    return payload_at(pending_.back().offset);
  }
  // Removes the entry of the last intend(), because the commit was refused.
  void retract();
  // Records that `id` is acknowledged. Ends the process with kExitViolation if intend() was not
  // called for `id`, or if `id` is acknowledged already.
  void acknowledge(TransactionId id);
  void count(uint32_t counter);
  // Returns whether the area has no space for another entry with a payload of `payload_bytes`.
  bool full_for(size_t payload_bytes) const;

 private:
  // An entry in state kIntended.
  struct Pending {
    TransactionId id;
    size_t offset;
  };
  std::byte* payload_at(size_t entry);

  std::byte* begin_;
  size_t bytes_;
  size_t first_entry_;
  size_t used_;
  TransactionId last_ = 0;  // the id of the last intend()
  std::deque<Pending> pending_;
};

// Returns the temporary name of the file `path`. The file has this name until keep() is called.
std::string unfinished_history(const std::string& path);

// The file of a run. Any thread may call record_start() and record_end().
class HistoryWriter {
 public:
  // Creates a file of about `bytes` bytes, which the workers share equally. Its name is
  // unfinished_history(path) until keep() names it `path`. Without keep() the destructor removes
  // the file. Refuses if the file cannot be created.
  HistoryWriter(const std::string& path, uint32_t workers, uint64_t bytes,
                const HistoryFileParameters& parameters);
  ~HistoryWriter();
  HistoryWriter(const HistoryWriter&) = delete;
  HistoryWriter& operator=(const HistoryWriter&) = delete;

  // Renames the file to `path`, and replaces an older file of that name. Call it on the thread that
  // made the object, before any transaction runs.
  void keep();

  HistoryArea& area(uint32_t worker) {
    LJ_ASSERT(worker < areas_.size());
    return areas_[worker];
  }
  // Records that transactions run. A crash test may kill the process only after this call.
  void record_start();
  // Records that the run ended by itself: every committed transaction is durable and acknowledged.
  // A later check of the database then demands exactly these transactions, even of an unsafe run.
  void record_end();
  // Returns a note for the run's report if `is_full` is true of a worker's area, or "". Call it
  // after the workers have ended.
  std::string note_if_full(bool (*is_full)(const HistoryArea&)) const;

 private:
  const std::string path_;
  platform::Undo undo_;
  std::byte* memory_;
  size_t bytes_;
  bool kept_ = false;
  std::vector<HistoryArea> areas_;
};

struct HistoryEntry {
  TransactionId id = 0;
  uint32_t life = 0;  // an index into HistoryFiles::files
  bool acknowledged = false;
  std::span<const std::byte> payload;  // 8-byte aligned
};

// A history read from its file. The payloads point into the mapped file, which stays mapped while a
// copy of the HistoryFile exists.
struct HistoryFile {
  std::string error;  // why the file cannot be used, in one sentence; empty if it can
  HistoryFileParameters parameters;
  uint32_t workers = 0;
  bool started = false, finished = false;
  std::vector<HistoryEntry> entries;            // sorted by id
  std::vector<std::vector<uint64_t>> counters;  // by worker

  // Returns whether transactions that the run acknowledged may be lost (R8).
  bool proves_nothing() const { return !parameters.unsafe.empty() && !finished; }

  std::shared_ptr<const void> memory;  // the mapped file
};
// Reads a history whose process has ended. Errors are returned in HistoryFile::error.
HistoryFile open_history_file(const std::string& path);
// Returns the value of HistoryFile::error for a file that cannot be used because of `why`.
std::string unusable_history(const std::string& path, const std::string& why);

}  // namespace logjam
