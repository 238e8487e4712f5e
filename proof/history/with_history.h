// The history of writes: its entries, its check, and the workload whose clients record it. Every
// workload except the ledger keeps this history if --history asks for it.
//
//   payload of an entry := WritesHeader, writes x RecordedWrite
//
// An entry has hashes of the rows that its transaction wrote, and for each write its position among
// the writes of the row. An entry has no number that the log assigns, because the check must prove
// these numbers.
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

// The contents of a row in a history: a hash of the row's bytes, or one of two special values.
using RowHash = uint32_t;
inline constexpr RowHash kAbsentRow = 0;
inline constexpr RowHash kUnknownRow = 1;  // present; the transaction did not look at the bytes

inline RowHash hash_of(const std::byte* row, size_t bytes) {
  const auto hash = static_cast<RowHash>(XXH3_64bits(row, bytes));
  return hash > kUnknownRow ? hash : hash + 2;
}

struct WritesHeader {
  uint32_t type;
  uint32_t writes;
};

// A change of one row. A row's later change has a larger `order`. If a transaction changes a row
// several times (erases it, then inserts it), it has one RecordedWrite for each change, in order.
struct RecordedWrite {
  Key key;
  uint64_t order;
  RowHash before;  // the row as the transaction saw it
  RowHash after;
  uint32_t table;
  uint32_t unused;
};
static_assert(sizeof(RecordedWrite) == 32);

// Numbers the changes of each row in their order, while the process runs.
//
// Protocol. A worker calls next() at the serialization point of its transaction, with the row
// locked (CommitObserver). So the calls for a row come one at a time, in the order in which its
// writers overwrite each other. Each call for a row returns a larger number than the call before,
// because a row always has the same counter. Other rows may share the counter.
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

// Checks the database against the history at `path`, which the workload `workload` with the
// transaction types `types` must have written. Call it when no transaction runs.
//
// A row *shows* the last of its writes whose hash it has now. A row that shows no write has its
// loaded state. A write is *missing* if it comes after the write that its row shows. A transaction
// is *lost* if one of its writes is missing. The rules:
//
//   - Each write saw the result of the row's previous write: no update was lost during the run.
//   - Each written row has the state in which a transaction or the load left it.
//   - R1: no acknowledged transaction is lost, unless the run was unsafe.
//   - R2: no transaction is lost if a row shows a write that only this transaction can have made.
//   - R4: if a transaction must not be lost, then no transaction whose row it updated may be lost,
//     and so on.
//
// If a history has several lives (history_files.h), the rules hold for each life, with the row's
// state at the end of the life. The row's first write in a later life saw this state. If no later
// life wrote the row, the row has this state now.
//
// So the checker misses a lost transaction only if other transactions have overwritten all of its
// writes. Then the loss does not change the database. A read without an update of the same row is
// not recorded. Only the ledger proves that such reads saw recovered rows.
Check check_history(Database& database, const std::string& path, const std::string& workload,
                    const std::vector<std::string_view>& types);

}  // namespace logjam::write_history

namespace logjam {

// Makes the workload. If --history is set and the workload keeps no history of its own, its clients
// record a history of writes, and its verify() also checks this history.
std::unique_ptr<Workload> make_with_history(const WorkloadInfo& info);

}  // namespace logjam
