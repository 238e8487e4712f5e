// Indexes used by more threads than the machine has cores, and removal from the ordered index.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>

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

// Checks the changes that all threads have reported. The changes of each node must form a chain
// without a gap, from the node's creation to its present structure word.
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
    // Half of the threads insert in ascending order, as a parallel load does.
    if (t % 2 == 0) std::shuffle(order.begin(), order.end(), random);
    Finger finger;
    Finger* const finds = t % 4 < 2 ? &finger : nullptr;
    for (Key i = 0; i < kPerThread; ++i) {
      Posting* entry = new_posting(arena, order[i], 0);
      ASSERT_TRUE(index->insert(entry, arena, nullptr, &reports[t], finds).inserted);
      ASSERT_EQ(index->find(order[i], nullptr, finds), entry);
      ASSERT_NE(index->find(order[random() % (i + 1)], nullptr), nullptr);
      ASSERT_EQ(index->find(kTop - order[i], nullptr), nullptr);
      if (i % 64 == 63) index->prefetch(std::span(order).subspan(i - 39, 40), sizeof(Posting));
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

// Inserter t inserts the keys t + i * kInserters, in an order that all threads know. progress[t] is
// the number of keys that inserter t has inserted.
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

// --- removal of entries, and reuse of the nodes that become empty ---

// An index that one thread uses. Retired nodes are recycled at once.
struct Removing {
  explicit Removing(std::unique_ptr<Index> of) : index(std::move(of)) {}

  void insert(Key key) {
    ASSERT_TRUE(index->insert(new_posting(arena, key, 0), arena, nullptr, nullptr).inserted);
  }
  void remove(Key key) {
    Keyed* entry = index->find(key, nullptr);
    ASSERT_NE(entry, nullptr);
    EXPECT_TRUE(index->remove(key, entry, &retired));
    nodes += retired.size();
    for (const Retired& node : retired) index->recycle(node, arena);
    retired.clear();
  }
  std::vector<Key> keys(bool descending = false) {
    std::vector<Key> all;
    index->scan(0, kTop, descending, [&](NodeVersion, std::span<Keyed* const> entries) {
      for (Keyed* entry : entries) all.push_back(entry->key);
      return true;
    });
    return all;
  }
  size_t leaves() {
    size_t count = 0;
    index->scan(0, kTop, false, [&](NodeVersion, std::span<Keyed* const>) { return ++count > 0; });
    return count;
  }

  Arena arena;
  std::unique_ptr<Index> index;
  std::vector<Retired> retired;
  size_t nodes = 0;
};

class RemovalTest : public testing::TestWithParam<IndexMaker> {};

TEST_P(RemovalTest, BehavesLikeASetInAnyOrder) {
  for (const uint64_t seed : {1, 2, 3}) {
    Removing tree(GetParam().make());
    std::set<Key> expected;
    std::mt19937_64 random(seed);
    const auto pick = [&](uint64_t phase) -> Key {
      // The seed selects the range of keys: all keys, or a window that moves up or down.
      if (seed == 1) return random() % 20'000;
      const uint64_t window = phase * 500;
      return (seed == 2 ? window : 50'000 - window) + random() % 3'000;
    };
    for (uint64_t i = 0; i < 60'000; ++i) {
      const Key key = pick(i / 1'000);
      if (expected.contains(key)) {
        tree.remove(key);
        expected.erase(key);
      } else {
        tree.insert(key);
        expected.insert(key);
      }
      if (i % 10'000 == 0) {
        std::vector<Key> all(expected.begin(), expected.end());
        ASSERT_EQ(tree.keys(), all);
        std::reverse(all.begin(), all.end());
        ASSERT_EQ(tree.keys(true), all);
      }
    }
    while (!expected.empty()) {
      tree.remove(*expected.begin());
      expected.erase(expected.begin());
    }
    EXPECT_TRUE(tree.keys().empty());
    EXPECT_LE(tree.leaves(), 2u) << "the leftmost and the rightmost";
    EXPECT_GT(tree.nodes, 0u);
    for (Key key = 0; key < 5'000; ++key) tree.insert(key * 7);
    EXPECT_EQ(tree.keys().size(), 5'000u);
  }
}

// Queues as in TPC-C's NEW-ORDER: each range grows at its upper end and shrinks at its lower end.
TEST_P(RemovalTest, MovingQueuesUseConstantMemory) {
  Removing tree(GetParam().make());
  constexpr Key kQueues = 10, kLong = 300;
  std::vector<Key> head(kQueues, 1), tail(kQueues, 1);
  const auto key_of = [](Key queue, Key number) { return queue << 28 | number; };
  uint64_t bytes = 0;
  for (int round = 0; round < 20'000; ++round) {
    for (Key queue = 0; queue < kQueues; ++queue) {
      // Queue 9 is emptied in every round. The other queues sometimes shrink to a few keys.
      tree.insert(key_of(queue, tail[queue]++));
      const Key wanted = queue == 9 ? 0 : (round / 1'000) % 3 == 0 ? queue : kLong;
      while (tail[queue] - head[queue] > wanted) tree.remove(key_of(queue, head[queue]++));
    }
    // In this test the arena also holds the entries, which are never reused. So the limit below
    // adds the bytes of the entries.
    if (round == 10'000) bytes = tree.arena.allocated_bytes();
  }
  const uint64_t entries = 9'999 * kQueues * sizeof(Posting);
  EXPECT_LT(tree.arena.allocated_bytes() - bytes, entries + 64 * 1024) << "nodes were used again";
  EXPECT_LT(tree.leaves(), kQueues * kLong / 2) << "and are not many";
}

// Readers use permanent keys. Meanwhile writers insert and remove keys between the permanent keys.
TEST_P(RemovalTest, ConcurrentReadersAndWritersFindTheirKeys) {
  const std::unique_ptr<Index> index = GetParam().make();
  constexpr Key kKept = 400, kGap = 1'000;
  Arena arena;
  for (Key i = 0; i < kKept; ++i) {
    index->insert(new_posting(arena, i * kGap, 0), arena, nullptr, nullptr);
  }
  platform::atomic<int> running{3};
  platform::atomic<uint64_t> wrong{0};
  const auto write = [&](Key which) {
    Arena own;
    std::vector<Retired> retired;  // never recycled, since readers may still visit the nodes
    Finger finger;
    std::mt19937_64 random(which);
    for (int round = 0; round < 150; ++round) {
      const Key base = random() % kKept * kGap;
      std::vector<Keyed*> in;
      for (Key i = 1; i < 200; ++i) {
        const Key key = base + i * 3 + which;
        Posting* entry = new_posting(own, key, 0);
        if (!index->insert(entry, own, nullptr, nullptr, &finger).inserted) wrong.fetch_add(1);
        in.push_back(entry);
      }
      for (Keyed* entry : in) {
        if (index->find(entry->key, nullptr, &finger) != entry) wrong.fetch_add(1);
        Keyed* out = entry;
        while (!index->remove(entry->key, out, &retired)) out = nullptr;
        if (index->find(entry->key, nullptr, &finger) != nullptr) wrong.fetch_add(1);
      }
    }
    running.fetch_sub(1);
  };
  const auto read = [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    Finger finger;
    while (running.load() > 0) {
      const Key i = random() % kKept;
      const Keyed* entry = index->find(i * kGap, nullptr, &finger);
      if (entry == nullptr || entry->key != i * kGap) wrong.fetch_add(1);
      const bool descending = random() % 2 == 0;
      const Key to = std::min(kKept - 1, i + 20);
      uint64_t kept = 0;
      Key last = descending ? kTop : 0;
      bool any = false;
      index->scan(
          i * kGap, to * kGap, descending, [&](NodeVersion, std::span<Keyed* const> entries) {
            for (const Keyed* found : entries) {
              // A leaf that splits during the scan may be visited twice.
              const bool again = any && (descending ? found->key >= last : found->key <= last);
              if (again) continue;
              any = true;
              last = found->key;
              kept += found->key % kGap == 0;
            }
            return true;
          });
      if (kept != to - i + 1) wrong.fetch_add(1);
    }
  };
  in_threads(6, [&](Key t) { t < 3 ? write(t) : read(t); });
  EXPECT_EQ(wrong.load(), 0u);
  uint64_t left = 0;
  index->for_each([&](Keyed*) { ++left; });
  EXPECT_EQ(left, kKept);
}

INSTANTIATE_TEST_SUITE_P(Kinds, RemovalTest, testing::ValuesIn(unique_ordered_kinds()), NameOf());

}  // namespace
}  // namespace logjam
