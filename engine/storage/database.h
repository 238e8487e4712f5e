// Tables with fixed-size rows, their schema and their indexes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/storage/arena.h"
#include "engine/storage/free_list.h"
#include "engine/storage/function_ref.h"
#include "engine/storage/index.h"
#include "engine/storage/tuple.h"
#include "platform/atomic.h"

namespace logjam {

enum class IndexKind : uint8_t { kHash, kOrdered };

// A secondary index. Its key is computed from the row. Unless it `moves`, it must not change while
// the row lives.
struct SecondarySchema {
  std::string name;
  IndexKind kind = IndexKind::kOrdered;
  bool unique = false;  // among present rows; transactions see to it, the index does not
  Key (*key_of)(Key primary, const std::byte* row) = nullptr;
  bool moves = false;  // updates may change the key; not of a unique one
};

struct TableSchema {
  std::string name;
  uint32_t row_bytes = 0;
  IndexKind kind = IndexKind::kHash;
  uint64_t expected_rows = 1024;
  std::vector<SecondarySchema> secondaries = {};
};

// About what a table's rows take: tuples' headers, padded rows, an entry in the primary index, and
// a posting in each secondary one.
uint64_t table_bytes(uint64_t rows, uint32_t row_bytes, size_t secondaries = 0);

class Table {
 public:
  Table(uint16_t id, TableSchema schema);

  uint16_t id() const { return id_; }
  const TableSchema& schema() const { return schema_; }
  uint32_t row_bytes() const { return schema_.row_bytes; }
  bool keys_move() const { return keys_move_; }  // of a secondary index
  Index& primary() { return *primary_; }
  size_t secondary_count() const { return secondaries_.size(); }
  Index& secondary(size_t which) { return *secondaries_[which]; }

  // A tuple in no index yet, absent, with sequence 0.
  Tuple* new_tuple(Key key, Arena& arena);
  // Takes back a new tuple that did not get into the index.
  void take_back(Tuple* tuple) { free_tuples_.give(tuple); }
  static Tuple* tuple_of(Keyed* primary_entry) { return static_cast<Tuple*>(primary_entry); }
  Posting* new_posting(size_t secondary, const Tuple& tuple, const std::byte* row,
                       Arena& arena) const;

  // For loading: a present row with sequence 0, in all indexes. The key must be new.
  void load(Key key, const void* row, Arena& arena);

  // For recovery: the tuple under `key`, created absent if need be, and its postings for `row`
  // (null: none) made sure of. Thread-safe.
  Tuple* obtain(Key key, Arena& arena);
  void index_row(Tuple* tuple, const std::byte* row, Arena& arena);

  // Whether transactions may have inserted or erased rows, so that a row's presence may be the
  // doing of another transaction. Set before such a change can be seen, by its transaction.
  bool rows_come_and_go() const { return changes_.load(platform::memory_order_relaxed); }
  void rows_will_come_and_go() {
    if (!rows_come_and_go()) changes_.store(true, platform::memory_order_relaxed);
  }

  // For the reclaimer: whether absent tuples can be taken out of the primary index. Postings of
  // rows long gone point at their tuples, so secondary indexes stand in the way.
  bool reclaims() const { return reclaims_; }
  // Takes out the tuple under `key`, if it is absent still since its writer with that sequence
  // number. False: try again, somebody holds it or a node. What is taken out is appended to
  // `retired`.
  bool forget(Key key, uint64_t sequence, std::vector<Retired>* retired);
  void recycle(const Retired& retired);
  // The largest sequence number of a tuple taken out: an insert that finds no tuple depends on it.
  uint64_t forgotten_up_to() const { return forgotten_.load(platform::memory_order_acquire); }

  // Present rows, while no transaction runs.
  uint64_t count_rows();
  void for_each_row(FunctionRef<void(Key, const std::byte*)> visit);

 private:
  uint16_t id_;
  TableSchema schema_;
  bool keys_move_ = false;
  std::unique_ptr<Index> primary_;
  std::vector<std::unique_ptr<Index>> secondaries_;
  platform::atomic<bool> changes_{false};
  bool reclaims_ = false;
  platform::atomic<uint64_t> forgotten_{0};
  FreeList free_tuples_;
};

class Database {
 public:
  // Tables are created in the same order in every process, so that their ids mean the same in a
  // log.
  Table& create_table(TableSchema schema);
  const std::vector<std::unique_ptr<Table>>& tables() const { return tables_; }
  Table* table(uint16_t id) { return id < tables_.size() ? tables_[id].get() : nullptr; }
  Table& table(const std::string& name);

 private:
  std::vector<std::unique_ptr<Table>> tables_;
};

}  // namespace logjam
