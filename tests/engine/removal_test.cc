// Removal of entries from the ordered index, and reuse of the nodes that become empty.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "engine/storage/database.h"
#include "platform/thread.h"
#include "tests/engine/index_kinds.h"

namespace logjam {
namespace {

// An index of one thread. Retired nodes are recycled at once, since no other thread reads them.
struct Removing {
  explicit Removing(std::unique_ptr<Index> of) : index(std::move(of)) {}

  void insert(Key key) {
    auto* tuple = new (arena.allocate(sizeof(Tuple))) Tuple(key, Version(0, true));
    ASSERT_TRUE(index->insert(tuple, arena, nullptr, nullptr).inserted);
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
    index->scan(0, ~Key{0}, descending, [&](NodeVersion, std::span<Keyed* const> entries) {
      for (Keyed* entry : entries) all.push_back(entry->key);
      return true;
    });
    return all;
  }
  size_t leaves() {
    size_t count = 0;
    index->scan(0, ~Key{0}, false, [&](NodeVersion, std::span<Keyed* const>) {
      ++count;
      return true;
    });
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
    std::map<Key, bool> expected;
    std::mt19937_64 random(seed);
    const auto pick = [&](uint64_t phase) -> Key {
      // The seed decides: all keys, a window of keys that moves up, or a window that moves down.
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
        expected[key] = true;
      }
      if (i % 10'000 == 0) {
        std::vector<Key> all;
        for (const auto& [k, there] : expected) all.push_back(k);
        ASSERT_EQ(tree.keys(), all);
        std::reverse(all.begin(), all.end());
        ASSERT_EQ(tree.keys(true), all);
      }
    }
    while (!expected.empty()) {
      tree.remove(expected.begin()->first);
      expected.erase(expected.begin());
    }
    EXPECT_TRUE(tree.keys().empty());
    EXPECT_LE(tree.leaves(), 2u) << "the leftmost and the rightmost";
    EXPECT_GT(tree.nodes, 0u);
    for (Key key = 0; key < 5'000; ++key) tree.insert(key * 7);
    EXPECT_EQ(tree.keys().size(), 5'000u);
  }
}

// Queues as in TPC-C's NEW-ORDER: keys are inserted at the upper end of each range and removed at
// the lower end.
TEST_P(RemovalTest, MovingQueuesUseConstantMemory) {
  Removing tree(GetParam().make());
  constexpr Key kQueues = 10, kLong = 300;
  std::vector<Key> head(kQueues, 1), tail(kQueues, 1);
  const auto key_of = [](Key queue, Key number) { return queue << 28 | number; };
  uint64_t bytes = 0;
  for (int round = 0; round < 20'000; ++round) {
    for (Key queue = 0; queue < kQueues; ++queue) {
      // Queue 9 is emptied in every round. The other queues are cut to a few keys at times.
      tree.insert(key_of(queue, tail[queue]++));
      const Key wanted = queue == 9 ? 0 : (round / 1'000) % 3 == 0 ? queue : kLong;
      while (tail[queue] - head[queue] > wanted) tree.remove(key_of(queue, head[queue]++));
    }
    // The arena has the nodes, and in this test also the tuples, which are never reused.
    if (round == 10'000) bytes = tree.arena.allocated_bytes();
  }
  const uint64_t tuples = 9'999 * kQueues * sizeof(Tuple);
  EXPECT_LT(tree.arena.allocated_bytes() - bytes, tuples + 64 * 1024) << "nodes were used again";
  EXPECT_LT(tree.leaves(), kQueues * kLong / 2) << "and are not many";
}

// Readers look up and scan keys that are never removed, while writers insert and remove keys of
// their own in between.
TEST_P(RemovalTest, ConcurrentReadersAndWritersFindTheirKeys) {
  const std::unique_ptr<Index> index = GetParam().make();
  constexpr Key kKept = 400, kGap = 1'000;
  Arena arena;
  for (Key i = 0; i < kKept; ++i) {
    auto* tuple = new (arena.allocate(sizeof(Tuple))) Tuple(i * kGap, Version(0, true));
    index->insert(tuple, arena, nullptr, nullptr);
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
        auto* tuple = new (own.allocate(sizeof(Tuple))) Tuple(key, Version(0, true));
        const InsertResult result = index->insert(tuple, own, nullptr, nullptr, &finger);
        if (!result.inserted) wrong.fetch_add(1);
        in.push_back(tuple);
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
      Key last = descending ? ~Key{0} : 0;
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
  std::vector<platform::thread> threads;
  for (Key which = 0; which < 3; ++which) threads.emplace_back([&, which] { write(which); });
  for (uint64_t seed = 10; seed < 13; ++seed) threads.emplace_back([&, seed] { read(seed); });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
  uint64_t left = 0;
  index->for_each([&](Keyed*) { ++left; });
  EXPECT_EQ(left, kKept);
}

INSTANTIATE_TEST_SUITE_P(Kinds, RemovalTest, testing::ValuesIn(unique_ordered_kinds()), NameOf());

}  // namespace
}  // namespace logjam
