// The write set and the read set of a transaction. One worker owns every object of this file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/storage/database.h"
#include "logging/format/record.h"
#include "platform/assert.h"
#include "platform/random.h"

namespace logjam {

// A map from the addresses of tuples or nodes to their indexes in a transaction's lists: open
// addressing with linear probing. A slot is empty if its stamp is not `stamp_`, so clear() only
// increments `stamp_`.
class PointerMap {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  PointerMap() : slots_(size_t{1} << kInitialBits) {}

  uint32_t find(const void* key) const {
    for (size_t i = home(key);; i = (i + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[i];
      if (slot.stamp != stamp_) return kNone;
      if (slot.key == key) return slot.value;
    }
  }

  void insert(const void* key, uint32_t value) {
    LJ_ASSERT_IN_TESTS(value != kNone && find(key) == kNone);
    if (++used_ * 2 > slots_.size()) grow();
    place(key, value);
  }

  void clear() {
    used_ = 0;
    if (++stamp_ != 0) return;
    for (Slot& slot : slots_) slot.stamp = 0;
    stamp_ = 1;
  }

 private:
  struct Slot {
    const void* key = nullptr;
    uint32_t stamp = 0;
    uint32_t value = 0;
  };
  static constexpr uint32_t kInitialBits = 6;

  size_t home(const void* key) const {
    return (reinterpret_cast<uintptr_t>(key) * platform::kGoldenRatio) >> (64 - bits_);
  }

  void place(const void* key, uint32_t value) {
    size_t i = home(key);
    while (slots_[i].stamp == stamp_) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = {key, stamp_, value};
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    std::swap(old, slots_);
    ++bits_;
    for (const Slot& slot : old) {
      if (slot.stamp == stamp_) place(slot.key, slot.value);
    }
  }

  std::vector<Slot> slots_;
  uint32_t bits_ = kInitialBits;
  uint32_t stamp_ = 1;
  size_t used_ = 0;
};

// One tuple that the transaction changes when it commits.
struct Write {
  Tuple* tuple;
  Table* table;
  std::byte* row;    // a private copy of the new row; null: the row will be absent
  uint64_t version;  // OCC: the word before locking; after install(), the one that unlock() stores
  bool was_present;  // the row was present before this transaction
  // The transaction has not read the row that it overwrites.
  bool blind = false;

  // Returns whether the commit changes the row: false if this transaction inserted and erased the
  // row, or if a unique secondary index refused the insert.
  bool changes() const { return was_present || row != nullptr; }
  WriteOp op() const {
    if (row == nullptr) return WriteOp::kErase;
    return was_present ? WriteOp::kUpdate : WriteOp::kInsert;
  }
};

class WriteSet {
 public:
  // Returns the write to `tuple` or null, valid until the next add() or sort_by_address().
  Write* find(const Tuple* tuple) {
    LJ_ASSERT_IN_TESTS(!sorted_);
    if (writes_.empty()) return nullptr;
    const uint32_t at = by_tuple_.find(tuple);
    return at == PointerMap::kNone ? nullptr : &writes_[at];
  }
  bool contains(const Tuple* tuple) const { return by_tuple_.find(tuple) != PointerMap::kNone; }

  Write& add(Table& table, Tuple* tuple, std::byte* row, bool was_present) {
    LJ_ASSERT_IN_TESTS(!sorted_);
    by_tuple_.insert(tuple, static_cast<uint32_t>(writes_.size()));
    return writes_.emplace_back(Write{tuple, &table, row, 0, was_present});
  }

  // Sorts the writes into the locking order of OCC. Afterwards, call contains() instead of find().
  void sort_by_address();

  bool changes_anything() const;

  bool empty() const { return writes_.empty(); }
  std::span<Write> all() { return writes_; }

  void clear() {
    if (writes_.empty()) return;
    writes_.clear();
    by_tuple_.clear();
    sorted_ = false;
  }

 private:
  std::vector<Write> writes_;
  PointerMap by_tuple_;  // after sort_by_address(), its indexes are wrong
  bool sorted_ = false;
};

// OCC: a tuple that the transaction has read, and the version word that the transaction saw.
struct Read {
  const Tuple* tuple;
  uint64_t version;
};

// OCC: the index nodes on whose keys the transaction depends, each with the structure word it had.
class NodeSet {
 public:
  // Adds a node. Returns false if the set already has the node with another structure word.
  bool remember(NodeVersion node);

  // Notes the node changes that an insert of this transaction made. Returns false if another
  // transaction has changed a node of the set since this transaction saw the node.
  bool apply(std::span<const NodeChange> changes);

  bool unchanged() const;

  void clear() {
    if (nodes_.empty()) return;
    nodes_.clear();
    by_node_.clear();
  }

 private:
  std::vector<NodeVersion> nodes_;
  PointerMap by_node_;
};

}  // namespace logjam
