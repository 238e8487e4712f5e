// Indexes used by more threads than the machine has cores.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>

#include "platform/clock.h"
#include "platform/spin.h"
#include "platform/thread.h"
#include "tests/engine/index_kinds.h"

namespace logjam {
namespace {

constexpr Key kTop = ~Key{0};
constexpr Key kThreads = 8;

template <class Body>
void in_threads(Key count, const Body& body) {
  std::vector<platform::thread> threads;
  for (Key t = 0; t < count; ++t) threads.emplace_back([&body, t] { body(t); });
  for (auto& thread : threads) thread.join();
}

Posting* new_posting(Arena& arena, Key key, Key primary) {
  return new (arena.allocate(sizeof(Posting))) Posting{{key}, primary, nullptr};
}

class UniqueConcurrency : public testing::TestWithParam<IndexMaker> {};
class OrderedConcurrency : public testing::TestWithParam<IndexMaker> {};
class PostingConcurrency : public testing::TestWithParam<IndexMaker> {};
INSTANTIATE_TEST_SUITE_P(Kinds, UniqueConcurrency, testing::ValuesIn(unique_kinds()), NameOf());
INSTANTIATE_TEST_SUITE_P(Kinds, OrderedConcurrency, testing::ValuesIn(unique_ordered_kinds()),
                         NameOf());
INSTANTIATE_TEST_SUITE_P(Kinds, PostingConcurrency, testing::ValuesIn(posting_kinds()), NameOf());

// Checks the reports of all threads together: each node's changes form one unbroken chain from its
// creation to its present structure word.
void expect_unbroken(const std::vector<std::vector<NodeChange>>& reports) {
  std::map<IndexNode*, std::map<uint64_t, uint64_t>> steps;
  std::set<IndexNode*> created;
  for (const auto& report : reports) {
    for (const NodeChange& change : report) {
      if (change.created) {
        EXPECT_TRUE(created.insert(change.node).second) << "created twice";
        EXPECT_EQ(change.after, 0u);
      } else {
        EXPECT_TRUE(steps[change.node].emplace(change.before, change.after).second)
            << "two inserts report the same change";
      }
    }
  }
  for (const auto& [node, chain] : steps) {
    uint64_t word = 0;
    for (const auto& [before, after] : chain) {
      ASSERT_EQ(before, word) << "a structure change that no insert reported";
      word = after;
    }
    ASSERT_EQ(node->structure.load(), word) << "a structure change that no insert reported";
  }
}

TEST_P(UniqueConcurrency, DisjointInsertsAreAllFoundAndReported) {
  constexpr Key kPerThread = 8000;
  auto index = GetParam().make();
  std::vector<std::vector<NodeChange>> reports(kThreads);
  in_threads(kThreads, [&](Key t) {
    Arena arena;
    std::mt19937_64 random(t);
    std::vector<Key> order(kPerThread);
    for (Key i = 0; i < kPerThread; ++i) order[i] = i * kThreads + t;
    // Half the threads load in order, as a parallel load does.
    if (t % 2 == 0) std::shuffle(order.begin(), order.end(), random);
    Finger finger;
    Finger* const finds = t % 4 < 2 ? &finger : nullptr;
    for (Key i = 0; i < kPerThread; ++i) {
      Posting* entry = new_posting(arena, order[i], 0);
      ASSERT_TRUE(index->insert(entry, arena, nullptr, &reports[t], finds).inserted);
      ASSERT_EQ(index->find(order[i], nullptr, finds), entry);
      ASSERT_NE(index->find(order[random() % (i + 1)], nullptr), nullptr);
      ASSERT_EQ(index->find(kTop - order[i], nullptr), nullptr);
    }
  });
  for (Key key = 0; key < kPerThread * kThreads; ++key) {
    const Keyed* entry = index->find(key, nullptr);
    ASSERT_NE(entry, nullptr) << key;
    ASSERT_EQ(entry->key, key);
  }
  Key entries = 0;
  index->for_each([&](Keyed*) { ++entries; });
  EXPECT_EQ(entries, kPerThread * kThreads);
  expect_unbroken(reports);
}

TEST_P(UniqueConcurrency, OneOfSeveralEqualKeysIsInserted) {
  constexpr Key kKeys = 5000;
  auto index = GetParam().make();
  std::vector<std::vector<Keyed*>> winners(kThreads);
  platform::atomic<Key> inserted{0};
  in_threads(kThreads, [&](Key t) {
    Arena arena;
    for (Key key = 0; key < kKeys; ++key) {
      const InsertResult result =
          index->insert(new_posting(arena, key, t), arena, nullptr, nullptr);
      winners[t].push_back(result.entry);
      if (result.inserted) inserted.fetch_add(1);
    }
  });
  EXPECT_EQ(inserted.load(), kKeys);
  for (const auto& seen : winners) EXPECT_EQ(seen, winners[0]);
}

TEST_P(UniqueConcurrency, AnInsertChangesTheVersionOfAMiss) {
  constexpr Key kKeys = 20000;
  auto index = GetParam().make();
  platform::atomic<bool> done{false};
  in_threads(4, [&](Key t) {
    std::mt19937_64 random(t);
    if (t == 0) {
      Arena arena;
      std::vector<Key> order(kKeys);
      for (Key i = 0; i < kKeys; ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), random);
      for (Key key : order) index->insert(new_posting(arena, key, 0), arena, nullptr, nullptr);
      done.store(true);
      return;
    }
    while (!done.load()) {
      const Key key = random() % kKeys;
      NodeVersion miss;
      if (index->find(key, &miss) != nullptr) continue;
      ASSERT_EQ(miss.structure & IndexNode::kLatched, 0u);
      for (int again = 0; again < 20; ++again) {
        // A validation reads the structure word. If the word is unchanged, the key must be absent.
        const bool intact = miss.node->structure.load() == miss.structure;
        const bool there = index->find(key, nullptr) != nullptr;
        if (there) {
          ASSERT_NE(miss.node->structure.load(), miss.structure)
              << "a phantom that validation misses";
        }
        if (!intact) break;
      }
    }
  });
}

TEST_P(UniqueConcurrency, ReadersWaitForALatchedNode) {
  auto index = GetParam().make();
  Arena arena;
  platform::thread reader;
  platform::atomic<bool> reading{false};
  Keyed* found = nullptr;
  NodeVersion miss;
  const auto gate = [&](IndexNode&) {
    reader = platform::thread([&] {
      reading.store(true);
      found = index->find(7, &miss);
    });
    for (platform::SpinWait wait; !reading.load();) wait.once();
    platform::sleep_ns(20'000'000);
    return true;
  };
  Posting* entry = new_posting(arena, 7, 0);
  index->insert(entry, arena, gate, nullptr);
  reader.join();
  EXPECT_EQ(found, entry) << "a miss under the latch has structure word " << miss.structure;
}

// The keys of inserter t are t + i * kInserters. All threads know the order in which it inserts
// them, and progress[t] is the number of keys inserted.
TEST_P(OrderedConcurrency, ScansAreSortedAndComplete) {
  constexpr Key kInserters = 4;
  constexpr Key kPerThread = 10000;
  auto index = GetParam().make();
  std::array<platform::atomic<Key>, kInserters> progress{};
  platform::atomic<Key> inserting{kInserters};
  const auto shuffled = [](Key t, Key i) { return (i * 7919 + t) % kPerThread * kInserters + t; };
  in_threads(kThreads, [&](Key t) {
    if (t < kInserters) {
      Arena arena;
      for (Key i = 0; i < kPerThread; ++i) {
        const Key key = t == 0 ? i * kInserters : shuffled(t, i);
        index->insert(new_posting(arena, key, 0), arena, nullptr, nullptr);
        progress[t].store(i + 1, platform::memory_order_release);
      }
      inserting.fetch_sub(1);
      return;
    }
    std::mt19937_64 random(t);
    const bool descending = t % 2 == 0;
    for (bool last = false; !last;) {
      last = inserting.load() == 0;
      Key low = random() % (kPerThread * kInserters);
      Key high = low + random() % 2000;
      if (last) low = 0, high = kTop;
      std::array<Key, kInserters> known;
      for (Key p = 0; p < kInserters; ++p)
        known[p] = progress[p].load(platform::memory_order_acquire);
      std::vector<Key> got;
      index->scan(low, high, descending, [&](NodeVersion version, std::span<Keyed* const> entries) {
        EXPECT_EQ(version.structure & IndexNode::kLatched, 0u);
        for (Keyed* entry : entries) got.push_back(entry->key);
        return true;
      });
      if (descending) std::reverse(got.begin(), got.end());
      ASSERT_TRUE(std::is_sorted(got.begin(), got.end(), std::less_equal<>()))
          << "order, no doubles";
      ASSERT_TRUE(got.empty() || (got.front() >= low && got.back() <= high));
      for (Key probe = 0; probe < 50; ++probe) {
        const Key p = random() % kInserters;
        if (known[p] == 0) continue;
        const Key i = random() % known[p];
        const Key key = p == 0 ? i * kInserters : shuffled(p, i);
        if (key < low || key > high) continue;
        ASSERT_TRUE(std::binary_search(got.begin(), got.end(), key)) << key << " was there before";
      }
      if (last) {
        ASSERT_EQ(got.size(), kInserters * kPerThread);
      }
    }
  });
}

// If the structure words of all visited nodes are unchanged, a second scan gives the same keys.
TEST_P(OrderedConcurrency, UnchangedVersionsMeanNoPhantoms) {
  constexpr Key kInserters = 2;
  constexpr Key kPerThread = 10000;
  auto index = GetParam().make();
  platform::atomic<Key> inserting{kInserters};
  platform::atomic<Key> compared{0};
  in_threads(6, [&](Key t) {
    std::mt19937_64 random(t);
    if (t < kInserters) {
      Arena arena;
      for (Key i = 0; i < kPerThread; ++i) {
        const Key key = t == 0 ? i * 4 : random() % (kPerThread * 4);
        index->insert(new_posting(arena, key, 0), arena, nullptr, nullptr);
      }
      inserting.fetch_sub(1);
      return;
    }
    do {
      const Key low = random() % (kPerThread * 4);
      const Key high = low + random() % 100;
      std::vector<NodeVersion> versions;
      std::array<std::vector<Key>, 2> got;
      index->scan(low, high, t % 2 == 0, [&](NodeVersion version, std::span<Keyed* const> entries) {
        versions.push_back(version);
        for (Keyed* entry : entries) got[0].push_back(entry->key);
        return true;
      });
      index->scan(low, high, t % 2 == 0, [&](NodeVersion, std::span<Keyed* const> entries) {
        for (Keyed* entry : entries) got[1].push_back(entry->key);
        return true;
      });
      const bool intact =
          std::all_of(versions.begin(), versions.end(), [](const NodeVersion& version) {
            return version.node->structure.load() == version.structure;
          });
      if (intact) {
        compared.fetch_add(1);
        ASSERT_EQ(got[0], got[1]) << "a phantom that validation misses";
      }
    } while (inserting.load() != 0);
  });
  EXPECT_GT(compared.load(), 0u);
}

TEST_P(PostingConcurrency, FindAllReturnsEveryPostingOfAKey) {
  constexpr Key kPerThread = 2000;
  constexpr Key kKeys = 97;
  auto index = GetParam().make();
  std::vector<std::vector<NodeChange>> reports(kThreads);
  in_threads(kThreads, [&](Key t) {
    Arena arena;
    for (Key i = 0; i < kPerThread; ++i) {
      const Key key = (i * 31 + t) % kKeys;
      const Key primary = i * kThreads + t;
      ASSERT_TRUE(
          index->insert(new_posting(arena, key, primary), arena, nullptr, &reports[t]).inserted);
      if (i % 16 != 0) continue;
      Key mine = 0;
      std::set<Key> primaries;
      index->find_all(key, [&](NodeVersion, std::span<Keyed* const> entries) {
        for (Keyed* e : entries) {
          EXPECT_EQ(e->key, key);
          const Key p = static_cast<Posting*>(e)->primary;
          EXPECT_TRUE(primaries.insert(p).second);
          if (p % kThreads == t) ++mine;
        }
        return true;
      });
      ASSERT_EQ(mine, i / kKeys + 1) << "all that this thread put under the key";
    }
  });
  expect_unbroken(reports);
}

}  // namespace
}  // namespace logjam
