// The transaction API, which hides concurrency control and logging from a workload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>
#include <type_traits>

#include "engine/storage/database.h"
#include "platform/assert.h"
#include "platform/function_ref.h"

namespace logjam {

enum class [[nodiscard]] Status : uint8_t{
    kOk,
    kNotFound,  // no row has the key; the transaction can continue
    kExists,    // an insert's key is present; the transaction can continue
    kAbort,  // concurrency control gave up: return at once, the worker retries with the same input
    kRollback,  // only a workload returns it: undo the transaction, do not retry it
};

enum class AbortReason : uint8_t {
  kLockBusy,    // a lock was held (2PL no-wait; OCC after a bounded wait)
  kDied,        // 2PL wait-die: a holder was older
  kDeadlock,    // 2PL detection: the transaction would have waited for itself
  kValidation,  // OCC: a row that was read has changed
  kPhantom,     // a scanned part of an index, or a part without the key, has changed or is locked
  kCount,
};
inline std::string_view name_of(AbortReason reason) {
  LJ_ASSERT(reason < AbortReason::kCount);
  constexpr std::string_view kNames[] = {"lock_busy", "died", "deadlock", "validation", "phantom"};
  static_assert(std::size(kNames) == static_cast<size_t>(AbortReason::kCount));
  return kNames[static_cast<size_t>(reason)];
}

// Observes the commits of one worker, on the worker's thread.
class CommitObserver {
 public:
  virtual ~CommitObserver() = default;
  // Announces that a transaction that changes rows will commit. The rows are locked, no change is
  // installed, and the log record is not published.
  virtual void serialized() = 0;
};

// One attempt of one transaction. Rows are `table.row_bytes()` bytes long. Row pointers that the
// calls return stay valid until the transaction ends. A row that may be changed (update, write) is
// a private copy until commit.
class Transaction {
 public:
  virtual ~Transaction() = default;

  // Starts loading the rows of `keys` into the cache, so that their cache misses overlap. Reads and
  // locks no row. `bytes` is as in read_head().
  static void prefetch(const Table& table, std::span<const Key> keys, uint32_t bytes) {
    table.prefetch(keys, bytes);
  }
  static void prefetch(const Table& table, std::span<const Key> keys) {
    table.prefetch(keys, table.row_bytes());
  }

  // Reads the row of `key`, including this transaction's writes. Returns kOk, kNotFound or kAbort.
  virtual Status read(Table& table, Key key, const std::byte** row) = 0;
  // Reads at least the first `bytes` bytes of the row. The caller does not look at later bytes.
  virtual Status read_head(Table& table, Key key, uint32_t /*bytes*/, const std::byte** row) {
    return read(table, key, row);
  }
  // Reads the row of `key` to change it through `*row`. Returns kOk, kNotFound or kAbort.
  virtual Status update(Table& table, Key key, std::byte** row) = 0;
  // Overwrites the whole row of `key` without reading it: the caller fills every byte of `*row`.
  // Returns kOk, kNotFound or kAbort.
  virtual Status write(Table& table, Key key, std::byte** row) = 0;
  // Inserts a copy of `row` under `key`. Returns kOk, kExists or kAbort.
  virtual Status insert(Table& table, Key key, const std::byte* row) = 0;
  // Erases the row of `key`. Returns kOk, kNotFound or kAbort.
  virtual Status erase(Table& table, Key key) = 0;

  // Visits the present rows with keys in [low, high] of an ordered primary index, in key order, or
  // in descending key order. Phantoms are prevented or detected. If the visitor returns false, the
  // visit ends, and the transaction does not depend on later rows. Returns kOk or kAbort.
  using RowVisitor = FunctionRef<bool(Key primary, const std::byte* row)>;
  virtual Status scan(Table& table, Key low, Key high, bool descending,
                      const RowVisitor& visit) = 0;
  // Visits rows as scan() does, but by the keys of the ordered secondary index `which`.
  virtual Status scan_secondary(Table& table, size_t which, Key low, Key high, bool descending,
                                const RowVisitor& visit) = 0;
  // Visits all present rows with `key` in secondary index `which`. Returns kOk or kAbort.
  virtual Status read_secondary(Table& table, size_t which, Key key, const RowVisitor& visit) = 0;
  // Visits the same rows as read_secondary(). At least the first `bytes` bytes of the visitor's
  // `row` are valid. They must contain all fields from which the index computes its key.
  virtual Status read_secondary_head(Table& table, size_t which, Key key, uint32_t /*bytes*/,
                                     const RowVisitor& visit) {
    return read_secondary(table, which, key, visit);
  }

  template <class Row>
  Status read(Table& table, Key key, const Row** row) {
    return read(table, key, reinterpret_cast<const std::byte**>(row));
  }
  template <class Row>
  Status read_head(Table& table, Key key, uint32_t bytes, const Row** row) {
    return read_head(table, key, bytes, reinterpret_cast<const std::byte**>(row));
  }
  template <class Row>
  Status update(Table& table, Key key, Row** row) {
    return update(table, key, reinterpret_cast<std::byte**>(row));
  }
  template <class Row>
  requires(!std::is_pointer_v<Row>) Status insert(Table& table, Key key, const Row& row) {
    return insert(table, key, reinterpret_cast<const std::byte*>(&row));
  }
};

}  // namespace logjam
