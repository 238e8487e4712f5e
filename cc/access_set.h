// What a transaction has written and read so far. One worker's; nothing here is shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cc/pointer_map.h"
#include "engine/storage/database.h"
#include "logging/record.h"

namespace logjam {

// One tuple the transaction will change at commit.
struct Write {
  Tuple* tuple;
  Table* table;
  std::byte* row;    // what the row will be, private; null: it will be absent
  uint64_t version;  // OCC: the tuple's word before it was locked, then the one to unlock it with
  bool was_present;  // before this transaction

  // An own insert that was erased again, or refused by a unique secondary index, changes nothing.
  bool changes() const { return was_present || row != nullptr; }
  WriteOp op() const {
    if (row == nullptr) return WriteOp::kErase;
    return was_present ? WriteOp::kUpdate : WriteOp::kInsert;
  }
};

class WriteSet {
 public:
  // The write to `tuple`, or null. The pointer is good until the next add().
  Write* find(const Tuple* tuple) {
    if (writes_.empty()) return nullptr;
    const uint32_t at = by_tuple_.find(tuple);
    return at == PointerMap::kNone ? nullptr : &writes_[at];
  }
  bool contains(const Tuple* tuple) const { return by_tuple_.find(tuple) != PointerMap::kNone; }

  // `tuple` must not be there.
  Write& add(Table& table, Tuple* tuple, std::byte* row, bool was_present) {
    by_tuple_.insert(tuple, static_cast<uint32_t>(writes_.size()));
    return writes_.emplace_back(Write{tuple, &table, row, 0, was_present});
  }

  // The order in which OCC locks, the same for all transactions. find() is of no use afterwards,
  // contains() still is.
  void sort_by_address();

  // Whether commit has anything to log.
  bool changes_anything() const;

  bool empty() const { return writes_.empty(); }
  std::span<Write> all() { return writes_; }

  void clear() {
    if (writes_.empty()) return;
    writes_.clear();
    by_tuple_.clear();
  }

 private:
  std::vector<Write> writes_;
  PointerMap by_tuple_;
};

// OCC: a tuple and the version it was read at.
struct Read {
  const Tuple* tuple;
  uint64_t version;
};

// OCC: index nodes whose set of keys the transaction depends on, as it saw them.
class NodeSet {
 public:
  // False if the node was seen before and has changed since: the two sights contradict.
  bool remember(NodeSight sight);

  // Takes this transaction's own insert into account. False if somebody else had changed a
  // remembered node since it was seen.
  bool apply(std::span<const NodeChange> changes);

  // Whether all nodes are as they were seen.
  bool unchanged() const;

  void clear() {
    if (nodes_.empty()) return;
    nodes_.clear();
    by_node_.clear();
  }

 private:
  std::vector<NodeSight> nodes_;
  PointerMap by_node_;
};

}  // namespace logjam
