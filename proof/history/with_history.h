// The payload of a transaction's entry in the history of a workload other than the ledger: the rows
// that the transaction wrote, as hashes, and the order in which each row was overwritten.
//
//   payload of an entry := WritesHeader, writes x RecordedWrite
//
// The log's own numbers are not used: they are part of what is to be proved.
#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/storage/tuple.h"
#include "engine/workload.h"
#include "platform/atomic.h"

namespace logjam::write_history {

// The contents of a row as a history knows them: a hash of its bytes, or one of two special values.
using RowHash = uint32_t;
inline constexpr RowHash kAbsentRow = 0;
inline constexpr RowHash kUnknownRow = 1;  // present, with bytes that no transaction has looked at

inline RowHash hash_of(const std::byte* row, size_t bytes) {
  const auto hash = static_cast<RowHash>(XXH3_64bits(row, bytes));
  return hash > kUnknownRow ? hash : hash + 2;
}

struct WritesHeader {
  uint32_t type;
  uint32_t writes;
};

// A change of one row. `order` grows with each change of the row. A row that a transaction changes
// in several ways (erased, then inserted) has an element for each, in their order.
struct RecordedWrite {
  Key key;
  uint64_t order;
  RowHash before;  // what the transaction had seen; kUnknownRow: the row was there
  RowHash after;
  uint32_t table;
  uint32_t unused;
};
static_assert(sizeof(RecordedWrite) == 32);

// The order in which rows are overwritten, in the memory of a running process.
//
// Protocol. A worker calls next() at the serialization point of its transaction, with the row
// locked (CommitObserver). So the calls for a row come one at a time, in the order in which its
// writers overwrite each other. Each call gets a larger number than the call before, because a row
// always has the same counter. Other rows may share the counter.
class RowOrder {
 public:
  RowOrder() : counters_(kCounters) {}
  uint64_t next(uint32_t table, Key key) {
    const uint64_t hash = (key + table) * 0x9e3779b97f4a7c15;
    return counters_[hash >> (64 - kBits)].fetch_add(1, platform::memory_order_relaxed) + 1;
  }

 private:
  static constexpr unsigned kBits = 18;
  static constexpr size_t kCounters = size_t{1} << kBits;
  std::vector<platform::atomic<uint64_t>> counters_;
};

// Checks a recovered database against the history of the run that wrote its log.
//
// A row *shows* the last of its writes that left it as it is now (by its hash); a row that shows no
// write is as the load left it. A write is *missing* if it comes after the write that its row
// shows. A transaction is *lost* if one of its writes is missing. The rules:
//
//   - Each write saw the row as the write before it left it: no update was lost during the run.
//   - Each written row is as a transaction or the load left it.
//   - R1: no acknowledged transaction is lost, unless the run was unsafe.
//   - R2: no transaction is lost if a row shows a write that can only be this transaction's.
//   - R4: if a transaction must not be lost, then no transaction whose row it updated is lost, and
//     so on.
//
// In a history of several lives (history_files.h) the rules hold for each life, with the row as it
// was when the life ended: as the first write of a later life saw it, or as it is now.
//
// So a lost transaction goes unnoticed only if others have overwritten everything that it wrote,
// and then the database is the same as if it were not lost. A read without an update of the same
// row is not recorded. Only the ledger proves that such reads saw recovered rows.

// Checks the database against the history at `path`, which the workload `workload` with the
// transaction types `types` must have written. No transaction may run meanwhile.
Check check_history(Database& database, const std::string& path, const std::string& workload,
                    const std::vector<std::string_view>& types);

}  // namespace logjam::write_history

namespace logjam {

// A workload whose clients keep a history of what they write, where --history asks for one.

// Makes the workload. With --history, unless the workload keeps a history of its own, its clients
// are RecordingClients, and verify() also makes the check of checker.h.
std::unique_ptr<Workload> make_with_history(const WorkloadInfo& info);

}  // namespace logjam
