// The transaction API: all that a workload sees of concurrency control and logging.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "engine/storage/database.h"
#include "engine/storage/function_ref.h"

namespace logjam {

enum class [[nodiscard]] Status : uint8_t{
    kOk,
    kNotFound,  // no such row; the transaction goes on
    kExists,    // insert of a key that is there; the transaction goes on
    kAbort,  // concurrency control gave up: return at once, the worker retries with the same input
    kRollback,  // only workloads return it: the transaction wants to be undone, and is complete
};

enum class AbortReason : uint8_t {
  kLockBusy,    // a lock was held (2PL no-wait; OCC after a bounded wait)
  kDied,        // wait-die: the holder was older
  kDeadlock,    // deadlock detection: it would have waited for itself
  kValidation,  // OCC: a row read has changed
  kPhantom,     // a scanned or missed part of an index has changed, or is locked
  kCount,
};
std::string_view name_of(AbortReason reason);

// One attempt of one transaction, owned by one worker and reused. Rows handed out stay valid until
// the transaction ends. A `Status` other than kAbort leaves the transaction usable.
//
// Rows passed in and out are `table.row_bytes()` long. A pointer to a row that may be changed
// (update, insert) is a private copy until commit.
class Transaction {
 public:
  virtual ~Transaction() = default;

  // kOk, kNotFound, kAbort. Sees the transaction's own writes.
  virtual Status read(Table& table, Key key, const std::byte** row) = 0;
  // Reads the row in order to change it through `*row`. kOk, kNotFound, kAbort.
  virtual Status update(Table& table, Key key, std::byte** row) = 0;
  // Overwrites the whole row without reading it: the caller fills all of `*row`. kOk, kNotFound,
  // kAbort.
  virtual Status write(Table& table, Key key, std::byte** row) = 0;
  // kOk, kExists, kAbort.
  virtual Status insert(Table& table, Key key, const std::byte* row) = 0;
  // kOk, kNotFound, kAbort.
  virtual Status erase(Table& table, Key key) = 0;

  // Present rows with keys in [low, high] of an ordered primary index, in key order, as a
  // serializable range read (phantoms are prevented or detected). The visitor returns false to
  // stop: rows behind that point are not depended on. kOk, kAbort.
  using RowVisitor = FunctionRef<bool(Key primary, const std::byte* row)>;
  virtual Status scan(Table& table, Key low, Key high, bool descending,
                      const RowVisitor& visit) = 0;
  // The same over secondary index `which` (ordered); keys are the secondary's.
  virtual Status scan_secondary(Table& table, size_t which, Key low, Key high, bool descending,
                                const RowVisitor& visit) = 0;
  // All present rows with that key in secondary index `which` (hash or ordered).
  virtual Status read_secondary(Table& table, size_t which, Key key, const RowVisitor& visit) = 0;

  // Typed forms.
  template <class Row>
  Status read(Table& table, Key key, const Row** row) {
    return read(table, key, reinterpret_cast<const std::byte**>(row));
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
