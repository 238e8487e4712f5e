// The promises of every index, tested on one thread: contents, order, and the reports and node
// versions with which concurrency control detects phantoms.
#include "engine/storage/index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>

#include "tests/engine/index_kinds.h"

namespace logjam {
namespace {

using NodeVersions = std::map<IndexNode*, uint64_t>;

class IndexTest : public testing::TestWithParam<IndexMaker> {
 protected:
  Keyed* posting(Key key, Key primary = 0) {
    postings_.push_back(Posting{{key}, primary, nullptr});
    return &postings_.back();
  }
  InsertResult insert(Key key, Key primary = 0) {
    changes_.clear();
    return index_->insert(posting(key, primary), arena_, nullptr, &changes_);
  }
  NodeVersions versions(Key low, Key high) {
    NodeVersions seen;
    index_->scan(low, high, false, [&](NodeVersion version, std::span<Keyed* const>) {
      seen[version.node] = version.structure;
      return true;
    });
    return seen;
  }
  std::unique_ptr<Index> index_ = GetParam().make();
  Arena arena_;
  std::deque<Posting> postings_;
  std::vector<NodeChange> changes_;
};

class UniqueTest : public IndexTest {};
class OrderedTest : public IndexTest {};
class PostingTest : public IndexTest {};
INSTANTIATE_TEST_SUITE_P(Kinds, UniqueTest, testing::ValuesIn(unique_kinds()), NameOf());
INSTANTIATE_TEST_SUITE_P(Kinds, OrderedTest, testing::ValuesIn(unique_ordered_kinds()), NameOf());
INSTANTIATE_TEST_SUITE_P(Kinds, PostingTest, testing::ValuesIn(posting_kinds()), NameOf());

constexpr Key kTop = ~Key{0};

TEST_P(UniqueTest, FindsExactlyTheInsertedKeys) {
  std::mt19937_64 random(1);
  std::map<Key, Keyed*> model;
  for (int i = 0; i < 20000; ++i) {
    const Key key = i < 4 ? std::array<Key, 4>{0, kTop, 1, kTop - 1}[static_cast<size_t>(i)]
                          : random() % 30000 * (i % 3 == 0 ? 1 : uint64_t{1} << 33);
    const InsertResult result = insert(key);
    const bool fresh = model.count(key) == 0;
    ASSERT_EQ(result.inserted, fresh);
    ASSERT_FALSE(result.refused);
    if (fresh) model[key] = result.entry;
    ASSERT_EQ(result.entry, model[key]);
    ASSERT_EQ(changes_.empty(), !fresh);
    const Key probe = random() % 60000;
    NodeVersion miss;
    Keyed* found = index_->find(probe, &miss);
    ASSERT_EQ(found, model.count(probe) ? model[probe] : nullptr);
    ASSERT_EQ(miss.node != nullptr, found == nullptr);
  }
  for (const auto& [key, entry] : model) ASSERT_EQ(index_->find(key, nullptr), entry);
  std::map<Key, Keyed*> visited;
  index_->for_each([&](Keyed* entry) { EXPECT_TRUE(visited.emplace(entry->key, entry).second); });
  EXPECT_EQ(visited, model);
  std::vector<Keyed*> in_order;
  index_->for_each([&](Keyed* entry) { in_order.push_back(entry); });
  for (const uint32_t parts : {2u, 7u, 64u, 10'000u}) {
    std::vector<Keyed*> in_parts;
    for (uint32_t part = 0; part < parts; ++part) {
      index_->for_each(part, parts, [&](Keyed* entry) { in_parts.push_back(entry); });
    }
    EXPECT_EQ(in_parts, in_order) << parts << " parts";
  }
}

TEST_P(UniqueTest, AnInsertChangesTheVersionOfAMiss) {
  for (Key key = 0; key < 500; ++key) insert(key * 10);
  for (Key key = 3; key < 5000; key += 10) {
    NodeVersion miss;
    ASSERT_EQ(index_->find(key, &miss), nullptr);
    ASSERT_EQ(miss.node->structure.load(), miss.structure);
    insert(key - 3);  // the key exists, so the node does not change
    ASSERT_EQ(miss.node->structure.load(), miss.structure);
    insert(key);
    ASSERT_NE(miss.node->structure.load(), miss.structure);
    ASSERT_EQ(changes_.at(0).node, miss.node);
    ASSERT_EQ(changes_.at(0).before, miss.structure);
    ASSERT_EQ(changes_.at(0).after, miss.node->structure.load());
  }
}

TEST_P(UniqueTest, TheGateRunsUnderTheLatchAndCanRefuse) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 3000; ++i) {
    const Key key = random() % 100000;
    NodeVersion miss;
    if (index_->find(key, &miss) != nullptr) {
      bool asked = false;
      const auto gate = [&](IndexNode&) { return asked = true; };
      EXPECT_FALSE(index_->insert(posting(key), arena_, gate, nullptr).inserted);
      EXPECT_FALSE(asked) << "nothing to ask for when the key is there";
      continue;
    }
    changes_.clear();
    const auto refuse = [&](IndexNode& node) {
      EXPECT_EQ(&node, miss.node);
      EXPECT_EQ(node.structure.load(), miss.structure | IndexNode::kLatched);
      return false;
    };
    const InsertResult refused = index_->insert(posting(key), arena_, refuse, &changes_);
    ASSERT_TRUE(refused.refused);
    ASSERT_FALSE(refused.inserted);
    ASSERT_TRUE(changes_.empty());
    ASSERT_EQ(miss.node->structure.load(), miss.structure);
    ASSERT_EQ(index_->find(key, nullptr), nullptr);

    std::vector<IndexNode*> gated;
    const auto allow = [&](IndexNode& node) {
      gated.push_back(&node);
      return true;
    };
    ASSERT_TRUE(index_->insert(posting(key), arena_, allow, &changes_).inserted);
    std::vector<IndexNode*> changed;
    for (const NodeChange& change : changes_) changed.push_back(change.node);
    ASSERT_EQ(gated, changed) << "a created node passes the gate, too";
  }
}

// Half of the inserts use a finger. The other inserts may split the leaf that the finger names.
TEST_P(UniqueTest, AFingerFindsWhatADescentFinds) {
  std::mt19937_64 random(4);
  std::map<Key, Keyed*> model;
  Finger finger;
  for (int i = 0; i < 20000; ++i) {
    const Key base = random() % 50 * 1000;
    for (Key near = 0; near < 5; ++near) {
      const Key key = i == 0 ? kTop - near : base + i % 1000 + near;
      NodeVersion missed, without;
      Keyed* found = index_->find(key, &missed, &finger);
      ASSERT_EQ(found, model.count(key) ? model[key] : nullptr);
      ASSERT_EQ(index_->find(key, &without), found);
      ASSERT_EQ(missed.node, without.node);
      ASSERT_EQ(missed.structure, without.structure);
      changes_.clear();
      Finger* with = random() % 2 == 0 ? &finger : nullptr;
      const InsertResult result = index_->insert(posting(key), arena_, nullptr, &changes_, with);
      ASSERT_EQ(result.inserted, found == nullptr);
      if (result.inserted) {
        ASSERT_EQ(changes_.at(0).node, missed.node);
      }
      model.emplace(key, result.entry);
      ASSERT_EQ(result.entry, model[key]);
    }
  }
  size_t entries = 0;
  index_->for_each([&](Keyed* entry) { entries += model.at(entry->key) == entry; });
  EXPECT_EQ(entries, model.size());
}

TEST_P(OrderedTest, ScansReturnTheRangeInBothDirections) {
  std::mt19937_64 random(3);
  std::set<Key> model;
  for (int i = 0; i < 3000; ++i) {
    const Key key = i == 0 ? 0 : i == 1 ? kTop : random() % 10000;
    insert(key);
    model.insert(key);
    Key low = random() % 11000;
    Key high = low + random() % 300;
    if (i % 50 == 0) low = 0, high = kTop;
    if (i % 50 == 1) low = high = key;
    for (bool descending : {false, true}) {
      std::vector<Key> got;
      std::set<IndexNode*> nodes;
      index_->scan(low, high, descending,
                   [&](NodeVersion version, std::span<Keyed* const> entries) {
                     EXPECT_TRUE(nodes.insert(version.node).second) << "a node is visited once";
                     EXPECT_EQ(version.structure, version.node->structure.load());
                     for (Keyed* entry : entries) got.push_back(entry->key);
                     return true;
                   });
      std::vector<Key> expected(model.lower_bound(low), model.upper_bound(high));
      if (descending) std::reverse(expected.begin(), expected.end());
      ASSERT_EQ(got, expected) << low << ".." << high << (descending ? " descending" : "");
      ASSERT_FALSE(nodes.empty()) << "also an empty range is somewhere";
    }
  }
  index_->scan(5, 4, false, [](NodeVersion, std::span<Keyed* const>) {
    ADD_FAILURE() << "no range, no node";
    return true;
  });
}

TEST_P(OrderedTest, AScanContinuesWhenItsVisitorSplitsLeaves) {
  for (bool descending : {false, true}) {
    index_ = GetParam().make();
    for (Key key = 0; key < 1000; ++key) insert(key * 10);
    std::vector<Key> got;
    index_->scan(0, kTop, descending, [&](NodeVersion, std::span<Keyed* const> entries) {
      for (Keyed* entry : entries) {
        if (entry->key % 10 != 0) continue;  // the visitor has inserted this key
        got.push_back(entry->key);
        for (Key near = 1; near < 10; near += 2) insert(entry->key + near);
      }
      return true;
    });
    if (descending) std::reverse(got.begin(), got.end());
    ASSERT_EQ(got.size(), 1000u);
    for (Key key = 0; key < 1000; ++key) ASSERT_EQ(got[key], key * 10);
  }
}

TEST_P(OrderedTest, ReportsNameExactlyTheChangedNodes) {
  std::mt19937_64 random(4);
  NodeVersions before = versions(0, kTop);
  for (int i = 0; i < 1500; ++i) {
    insert(random() % 4000);
    NodeVersions expected = before;
    for (const NodeChange& change : changes_) {
      if (change.created) {
        ASSERT_EQ(expected.count(change.node), 0u);
        ASSERT_GT(&change, changes_.data()) << "named after the node it took keys from";
      } else {
        ASSERT_EQ(expected.at(change.node), change.before);
      }
      expected[change.node] = change.after;
    }
    before = versions(0, kTop);
    ASSERT_EQ(before, expected);
  }
}

size_t leaves_of(Index& index) {
  size_t leaves = 0;
  index.scan(0, kTop, false, [&](NodeVersion, std::span<Keyed* const>) { return ++leaves > 0; });
  return leaves;
}

TEST_P(OrderedTest, AscendingRunsFillTheirLeaves) {
  constexpr Key kRows = 5000;
  for (Key key = 0; key < kRows; ++key) insert(key);
  size_t fullest = 0;
  index_->scan(0, kTop, false, [&](NodeVersion, std::span<Keyed* const> entries) {
    fullest = std::max(fullest, entries.size());
    return true;
  });
  EXPECT_LE(leaves_of(*index_), kRows / fullest + 1);

  // Keys grow in ten ascending ranges in turn, like the orders of TPC-C's ten districts.
  index_ = GetParam().make();
  for (Key i = 0; i < kRows / 10; ++i) {
    for (Key run = 0; run < 10; ++run) insert(run * 1000000 + i);
  }
  EXPECT_LE(leaves_of(*index_), (kRows / fullest + 1) * 5 / 4 + 10);
}

TEST_P(PostingTest, SeveralEntriesShareAKey) {
  std::mt19937_64 random(6);
  std::set<std::pair<Key, Key>> model;
  for (int i = 0; i < 8000; ++i) {
    const Key key = i % 100 == 0 ? kTop : random() % 300;
    const Key primary = i % 70 == 0 ? kTop : random() % 40;
    ASSERT_EQ(insert(key, primary).inserted, model.emplace(key, primary).second);
    ASSERT_EQ(insert(key, primary).entry->key, key);
    ASSERT_TRUE(changes_.empty());
    const Key probe = i % 100 == 0 ? kTop : random() % 310;
    std::set<std::pair<Key, Key>> got;
    index_->find_all(probe, [&](NodeVersion version, std::span<Keyed* const> entries) {
      EXPECT_EQ(version.node->structure.load(), version.structure);
      for (Keyed* e : entries) {
        EXPECT_TRUE(got.emplace(e->key, static_cast<Posting*>(e)->primary).second);
      }
      return true;
    });
    const std::set<std::pair<Key, Key>> expected(model.lower_bound({probe, 0}),
                                                 model.upper_bound({probe, kTop}));
    ASSERT_EQ(got, expected);
  }
}

// A bucket holds five entries in its cache line. Further entries cost a second cache line.
TEST(HashSpread, KeysOfManyShapesRarelyOverflow) {
  constexpr Key kKeys = 100000;
  const std::vector<std::pair<const char*, Key (*)(Key)>> shapes = {
      {"dense", [](Key i) { return i; }},
      {"every 8th", [](Key i) { return i * 8; }},
      {"every 4096th", [](Key i) { return i * 4096; }},
      {"high half", [](Key i) { return i << 32; }},
      {"district, order", [](Key i) { return (i % 100) << 32 | i / 100; }},
      {"district, order, line",
       [](Key i) { return (i % 10) << 40 | (i / 150) << 8 | i / 10 % 15; }},
      {"scrambled", [](Key i) { return i * 0xff51afd7ed558ccd ^ (i * 0x5bd1e995) << 31; }}};
  for (const auto& [name, key_of] : shapes) {
    auto index = make_hash_index({.unique = true, .expected_entries = kKeys});
    Arena arena;
    std::vector<Keyed> entries(kKeys);
    std::vector<NodeChange> changes;
    std::map<IndexNode*, int> buckets;
    int overflowed = 0;
    for (Key i = 0; i < kKeys; ++i) {
      entries[i].key = key_of(i);
      changes.clear();
      ASSERT_TRUE(index->insert(&entries[i], arena, nullptr, &changes).inserted) << name;
      if (++buckets[changes.at(0).node] > 5) ++overflowed;
    }
    EXPECT_LT(overflowed, static_cast<int>(kKeys / 25)) << name;
  }
}

}  // namespace
}  // namespace logjam
