// How a transaction maintains secondary indexes. An index maps a secondary key to *postings*, each
// of which names a tuple. Postings never leave an index, so a reader skips postings whose row was
// erased or has another key now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/access_set.h"
#include "engine/transaction.h"

namespace logjam {

// The answer of a visitor that is called for each entry of an index.
enum class WalkStep : uint8_t { kContinue, kStop, kAbort };

// The postings that one transaction reads and inserts. `Owner` is its TransactionBase.
template <class Owner>
class Postings {
 public:
  explicit Postings(Owner& owner) : owner_(owner) {}

  // Tracks the secondary keys of `tuple` that an update may change. `row` is the row before the
  // change, or null if the transaction has not read it.
  void track(Table& table, Tuple& tuple, const std::byte* row) {
    if (!table.keys_move()) return;
    for (uint32_t which = 0; which < table.secondary_count(); ++which) {
      const SecondarySchema& schema = table.schema().secondaries[which];
      if (!schema.moves) continue;
      const Key key = row == nullptr ? 0 : schema.key_of(tuple.key, row);
      tracked_.push_back({&tuple, which, row != nullptr, key});
    }
  }

  // Inserts a posting for every tracked secondary key that this transaction has changed, so that
  // readers find the changed rows by their new keys. Returns false if the transaction must abort.
  //
  // Each secondary read calls it, so that the transaction finds its own changes. Each commit()
  // calls it first: under OCC before the first write lock, as the proof in occ.cc requires. Under
  // 2PL the transaction has locked the tuples before, so another transaction that finds the new
  // posting waits for its row. If the transaction aborts, the posting stays and matches no row.
  bool post_moved() {
    for (TrackedKey& tracked : tracked_) {
      const Write* own = owner_.writes_.find(tracked.tuple);
      if (own == nullptr || own->row == nullptr) continue;
      const auto& schema = own->table->schema().secondaries[tracked.which];
      const Key key = schema.key_of(tracked.tuple->key, own->row);
      if (tracked.posted && tracked.key == key) continue;
      if (!insert(*own->table, tracked.which, *tracked.tuple, own->row)) return false;
      tracked.key = key;
      tracked.posted = true;
    }
    return true;
  }

  // Inserts the posting for `row`, which the caller is about to insert as `tuple`. Returns kOk;
  // kExists if the index is unique and another row has the key; or kAbort.
  Status add(Table& table, size_t which, Tuple& tuple, const std::byte* row) {
    Index& index = table.secondary(which);
    const SecondarySchema& schema = table.schema().secondaries[which];
    const Key key = schema.key_of(tuple.key, row);
    bool taken = false;
    if (schema.unique) {
      const Status status = owner_.walk_key(index, key, [&](Keyed* entry) {
        const auto& posting = *static_cast<Posting*>(entry);
        if (posting.tuple == &tuple) return WalkStep::kContinue;
        const std::byte* other;
        if (!owner_.self().read_tuple(*posting.tuple, table.row_bytes(), &other))
          return WalkStep::kAbort;
        taken = taken || matches(schema, posting, other);
        return WalkStep::kContinue;
      });
      if (status != Status::kOk) return status;
    }
    if (taken) return Status::kExists;
    return insert(table, which, tuple, row) ? Status::kOk : Status::kAbort;
  }

  // Reads the first `bytes` bytes of the row of `posting`, and calls `visit` if the row matches the
  // posting.
  WalkStep visit(Table& table, size_t which, const Posting& posting, uint32_t bytes,
                 const Transaction::RowVisitor& visit) {
    const std::byte* row;
    if (!owner_.self().read_tuple(*posting.tuple, bytes, &row)) return WalkStep::kAbort;
    if (!matches(table.schema().secondaries[which], posting, row)) return WalkStep::kContinue;
    return visit(posting.primary, row) ? WalkStep::kContinue : WalkStep::kStop;
  }

  void clear() { tracked_.clear(); }

 private:
  // A tuple that the transaction may change, and its key in secondary index `which`. A tuple may
  // have two entries; then the index refuses the second insert.
  struct TrackedKey {
    Tuple* tuple;
    uint32_t which;
    bool posted;  // the index has a posting under `key`
    Key key;
  };

  // Returns whether `row`, the row of the posting's tuple, is present and has the posting's key.
  static bool matches(const SecondarySchema& schema, const Posting& posting, const std::byte* row) {
    return row != nullptr && schema.key_of(posting.primary, row) == posting.key;
  }

  // Inserts a posting if the index does not have it. Returns false if the transaction must abort.
  bool insert(Table& table, size_t which, Tuple& tuple, const std::byte* row) {
    Arena& arena = *owner_.context_.arena;
    Posting* posting = table.new_posting(which, tuple, row, arena);
    InsertResult result;
    const bool insert_ok = owner_.self().insert_entry(table.secondary(which), posting, &result);
    if (!result.inserted) arena.free(posting, sizeof(Posting));
    return insert_ok;
  }

  Owner& owner_;
  std::vector<TrackedKey> tracked_;
};

}  // namespace logjam
