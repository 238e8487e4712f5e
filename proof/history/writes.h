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
#include <vector>

#include "engine/storage/tuple.h"
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

}  // namespace logjam::write_history
