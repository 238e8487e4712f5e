// Tables with rows of fixed size, and their indexes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/storage/arena.h"
#include "engine/storage/columns.h"
#include "engine/storage/commit_clock.h"
#include "engine/storage/free_list.h"
#include "engine/storage/index.h"
#include "engine/storage/old_version.h"
#include "engine/storage/tuple.h"
#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/function_ref.h"

namespace logjam {

enum class IndexKind : uint8_t { kHash, kOrdered };

struct SecondarySchema {
  std::string name;
  IndexKind kind = IndexKind::kOrdered;
  bool unique = false;  // among present rows; transactions ensure this, not the index
  Key (*key_of)(Key primary, const std::byte* row) = nullptr;
  bool moves = false;  // updates may change the key; not if unique
};

struct TableSchema {
  std::string name;
  uint32_t row_bytes = 0;
  IndexKind kind = IndexKind::kHash;
  uint64_t expected_rows = 1024;
  std::vector<SecondarySchema> secondaries = {};
  Columns columns = {};  // for exports; empty: the table is not described
};

// Returns the approximate memory of a table with `secondaries` secondary indexes.
uint64_t table_bytes(uint64_t rows, uint32_t row_bytes, size_t secondaries = 0);

// A table. Several threads may call its functions at once, unless a comment says otherwise. Arenas
// belong to the calling thread.
class Table {
 public:
  Table(uint16_t id, TableSchema schema);

  uint16_t id() const { return id_; }
  const TableSchema& schema() const { return schema_; }
  uint32_t row_bytes() const { return schema_.row_bytes; }
  bool keys_move() const { return keys_move_; }  // of any secondary index
  Index& primary() { return *primary_; }
  size_t secondary_count() const { return secondaries_.size(); }
  Index& secondary(size_t which) {
    LJ_ASSERT_IN_TESTS(which < secondaries_.size());
    return *secondaries_[which];
  }

  // Starts loading the first `bytes` bytes of each row into the cache. Call it in a transaction.
  void prefetch(std::span<const Key> keys, uint32_t bytes) const {
    LJ_ASSERT_IN_TESTS(bytes <= row_bytes());
    primary_->prefetch(keys, sizeof(Tuple) + bytes);
  }

  // Returns a new absent tuple with sequence number 0. The tuple is in no index yet.
  Tuple* new_tuple(Key key, Arena& arena);
  // Frees a new tuple that did not enter the index.
  void free(Tuple* tuple, Arena& arena);
  // Returns memory for an old version of a row.
  OldVersion* new_old_version(Arena& arena);
  uint64_t old_version_bytes() const;  // of one, header included
  static Tuple* tuple_of(Keyed* primary_entry) { return static_cast<Tuple*>(primary_entry); }
  // Returns a new posting of `tuple` for `row`. The posting is in no index yet.
  Posting* new_posting(size_t secondary, const Tuple& tuple, const std::byte* row,
                       Arena& arena) const;

  // Inserts a present row with sequence number 0 and a new key into all indexes, for loads.
  void load(Key key, const void* row, Arena& arena);

  // Creates an absent tuple if there is none. Recovery calls this function and the next two.
  Tuple* find_or_create(Key key, Arena& arena);
  // Ensures that the tuple has its postings for `row` (null: none).
  void index_row(Tuple* tuple, const std::byte* row, Arena& arena);
  // Creates the tuple of `key` with the given version and row (null: absent), and its postings.
  // Returns false if the table already has the key.
  bool restore(Key key, Version version, const std::byte* row, Arena& arena);

  // Returns whether a transaction may have inserted or erased rows, or a recovery has found an
  // insert in the log. A transaction calls note_membership_change() before other transactions can
  // see the insert or the erase.
  bool membership_changes() const { return changes_.load(platform::memory_order_relaxed); }
  void note_membership_change() {
    if (!membership_changes()) changes_.store(true, platform::memory_order_relaxed);
  }

  // Returns whether absent tuples can leave the primary index. With secondary indexes they cannot,
  // because the postings of erased rows point at them.
  bool reclaims() const { return reclaims_; }
  // Removes the tuple of `key` from the index, if the tuple is absent and `sequence` is still its
  // sequence number. Appends the removed memory to `retired`. Returns false if a transaction holds
  // the tuple, or if an index node cannot be removed now: call it again later. `old_versions`: the
  // protocol keeps old versions, no transaction can read the tuple's, and they are removed too.
  bool remove_absent(Key key, uint64_t sequence, bool old_versions, std::vector<Retired>* retired);
  // Reuses memory that remove_absent() retired, and that no thread can reach any more.
  void recycle(const Retired& retired, const Arena& arena);
  // Returns the largest sequence number of any removed tuple. An insert that makes a tuple must get
  // a larger sequence number than this.
  uint64_t removed_up_to() const { return removed_up_to_.load(platform::memory_order_acquire); }
  // Sets removed_up_to() to 0 for a new run. No other thread may use the table.
  void forget_removals() { removed_up_to_.store(0, platform::memory_order_relaxed); }

  // The next functions count and visit the present rows. No transaction may run during the call.

  uint64_t count_rows();
  void for_each_row(FunctionRef<void(Key, const std::byte*)> visit);
  // Visits part `part` of `parts`. Parts 0, 1, ... in turn have the order of the function above.
  void for_each_row(uint32_t part, uint32_t parts, FunctionRef<void(Key, const std::byte*)> visit);

 private:
  uint16_t id_;
  TableSchema schema_;
  bool keys_move_ = false;
  std::unique_ptr<Index> primary_;
  std::vector<std::unique_ptr<Index>> secondaries_;
  platform::atomic<bool> changes_{false};
  bool reclaims_ = false;
  platform::atomic<uint64_t> removed_up_to_{0};
  FreeList free_tuples_, free_old_versions_;
};

// Owns its tables, which are created before any other thread uses the database.
class Database {
 public:
  // Creates a table. Every process does so in the same order, because a log has the tables' ids.
  Table& create_table(TableSchema schema);
  const std::vector<std::unique_ptr<Table>>& tables() const { return tables_; }
  Table* table(uint16_t id) { return id < tables_.size() ? tables_[id].get() : nullptr; }
  // Returns the table of this name. Ends the process if there is none.
  Table& table(const std::string& name);

  CommitClock& commit_clock() { return commit_clock_; }

 private:
  CommitClock commit_clock_;
  std::vector<std::unique_ptr<Table>> tables_;
};

}  // namespace logjam
