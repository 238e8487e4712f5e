// If an index node has changed, a walk reads the node again, and continues after the last entry
// that it has visited. The walk must visit each entry once, even if one key's entries lie in
// several nodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "cc/transaction_base.h"
#include "logging/scheme_registry.h"

namespace logjam {
namespace {

// A protocol without concurrency control. The test decides the result of each check of a node.
class ScriptedNodes final : public TransactionBase<ScriptedNodes> {
 public:
  using TransactionBase::TransactionBase;

  void begin(bool) override { reset(); }
  Status commit() override { return Status::kOk; }
  void abort() override {}
  void release_locks() override {}

  NodeCheck track_node(NodeVersion, const Index&) {
    const uint64_t call = tracked++;
    if (call == aborted) return NodeCheck::kAbort;
    return changed.contains(call) ? NodeCheck::kChanged : NodeCheck::kUnchanged;
  }
  bool read_tuple(Tuple& tuple, uint32_t, const std::byte** row) {
    *row = tuple.load_version().absent() ? nullptr : tuple.row();
    return true;
  }
  bool read_for_update(Tuple&, uint32_t, std::byte*, Version*) { return false; }
  bool prepare_blind_write(Tuple&, Version*) { return false; }
  void init_tuple(Tuple&) {}
  void tuple_inserted(Tuple&) {}
  bool insert_entry(Index&, Keyed*, InsertResult*) { return false; }

  uint64_t tracked = 0;             // number of calls of track_node()
  std::set<uint64_t> changed;       // numbers of the calls of track_node() that return kChanged
  std::optional<uint64_t> aborted;  // number of the call that returns kAbort
};

constexpr Key kRows = 600, kInAGroup = 150;  // the postings of a group lie in several nodes

Key group_of(Key primary, const std::byte*) { return primary / kInAGroup; }

class Walk : public testing::Test {
 protected:
  Walk() {
    TableSchema schema;
    schema.name = "rows";
    schema.row_bytes = sizeof(uint64_t);
    schema.kind = IndexKind::kOrdered;
    schema.secondaries.push_back({.name = "ordered", .key_of = group_of});
    schema.secondaries.push_back({.name = "hashed", .kind = IndexKind::kHash, .key_of = group_of});
    table_ = &database_.create_table(std::move(schema));
    for (Key key = 0; key < kRows; ++key) table_->load(key, &key, arena_);
    context_.log = log_.get();
    context_.arena = &arena_;
    context_.breakdown = &breakdown_;
    transaction_ = std::make_unique<ScriptedNodes>(context_);
  }

  static std::vector<Key> keys(Key low, Key high, bool descending = false) {
    std::vector<Key> all;
    for (Key key = low; key <= high; ++key) all.push_back(key);
    if (descending) std::reverse(all.begin(), all.end());
    return all;
  }

  // Calls `walk` without changes, to count the nodes. Then calls `walk` three times for each node:
  // with a change at the node's first check, with changes at two checks, and with an abort. Returns
  // the number of nodes.
  template <class Body>
  uint64_t expect_visits(const std::vector<Key>& expected, const Body& walk) {
    std::vector<Key> visited;
    const auto run = [&] {
      visited.clear();
      transaction_->begin(false);
      transaction_->tracked = 0;
      return walk([&](Key key, const std::byte*) {
        visited.push_back(key);
        return true;
      });
    };
    EXPECT_EQ(run(), Status::kOk);
    EXPECT_EQ(visited, expected);
    const uint64_t nodes = transaction_->tracked;
    for (uint64_t node = 0; node < nodes; ++node) {
      for (const auto& changed : {std::set{node}, std::set{node, node + 1}}) {
        transaction_->changed = changed;
        EXPECT_EQ(run(), Status::kOk);
        EXPECT_EQ(visited, expected) << "node " << node << " of " << nodes << " has changed";
        EXPECT_GT(transaction_->tracked, nodes) << "a changed node is tracked again";
      }
      transaction_->changed.clear();
      transaction_->aborted = node;
      EXPECT_EQ(run(), Status::kAbort);
      EXPECT_EQ(transaction_->tracked, node + 1) << "an abort ends the walk";
      transaction_->aborted.reset();
    }
    return nodes;
  }

  Arena arena_;
  Breakdown breakdown_;
  Database database_;
  Table* table_ = nullptr;
  std::unique_ptr<LogScheme> log_ = find_scheme("none")->make(LogConfig{.workers = 1});
  WorkerContext context_;
  std::unique_ptr<ScriptedNodes> transaction_;
};

TEST_F(Walk, GoesOnAtTheNextPostingOfTheSameKeyWhenANodeHasChanged) {
  for (const bool descending : {false, true}) {
    const auto scan = [&](const auto& visit) {
      return transaction_->scan_secondary(*table_, 0, 1, 2, descending, visit);
    };
    EXPECT_GE(expect_visits(keys(kInAGroup, 3 * kInAGroup - 1, descending), scan), 6u);
  }
  const auto read = [&](const auto& visit) {
    return transaction_->read_secondary(*table_, 0, 1, visit);
  };
  EXPECT_GE(expect_visits(keys(kInAGroup, 2 * kInAGroup - 1), read), 3u);
}

TEST_F(Walk, GoesOnAtTheNextRowWhenANodeHasChanged) {
  for (const bool descending : {false, true}) {
    const auto scan = [&](const auto& visit) {
      return transaction_->scan(*table_, 100, 499, descending, visit);
    };
    EXPECT_GE(expect_visits(keys(100, 499, descending), scan), 6u);
  }
}

TEST_F(Walk, ReadsAChangedBucketAgain) {
  const auto read = [&](const auto& visit) {
    return transaction_->read_secondary(*table_, 1, 2, visit);
  };
  EXPECT_EQ(expect_visits(keys(2 * kInAGroup, 3 * kInAGroup - 1), read), 1u);
}

}  // namespace
}  // namespace logjam
