// The nodes of the ordered index.
//
// Every field that readers touch is atomic: threads load it with acquire and store it with release,
// which on x86 are plain loads and stores (protocol: btree.h).
#pragma once

#include <array>
#include <cstdint>

#include "engine/storage/index.h"
#include "engine/storage/tuple.h"
#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/spin.h"
#include "platform/thread_annotations.h"

namespace logjam::btree {

// How a unique index orders entries: by key.
struct ByKey {
  using Rank = uint64_t;

  static Rank rank_of(const Keyed* entry) { return entry->key; }
  static Rank first_of(Key key) { return key; }
  static Rank last_of(Key key) { return key; }

  class Cell {
   public:
    Rank load() const { return word_.load(platform::memory_order_acquire); }
    void store(Rank rank) { word_.store(rank, platform::memory_order_release); }

   private:
    platform::atomic<uint64_t> word_{0};
  };
};

// How a non-unique index orders postings: by key, then by primary key.
//
// A reader may load a mixture of two ranks while a writer changes a cell. Writers store the primary
// first and readers load the key first, so a mixture has the old key and the new primary. A cell in
// use changes only to a lower rank, so a mixture is not lower than the new rank. A cleared cell
// changes to the highest rank, so a mixture is not lower than the old rank. In both cases the
// mixture leads the reader at most too far to the left, and the wanted node is to the right.
struct ByKeyAndPrimary {
  __extension__ using Rank = unsigned __int128;

  static Rank rank(Key key, Key primary) { return static_cast<Rank>(key) << 64 | primary; }
  static Rank rank_of(const Keyed* entry) {
    return rank(entry->key, static_cast<const Posting*>(entry)->primary);
  }
  static Rank first_of(Key key) { return rank(key, 0); }
  static Rank last_of(Key key) { return rank(key, ~Key{0}); }

  class Cell {
   public:
    Rank load() const {
      return rank(key_.load(platform::memory_order_acquire),
                  primary_.load(platform::memory_order_acquire));
    }
    void store(Rank rank) {
      primary_.store(static_cast<uint64_t>(rank), platform::memory_order_release);
      key_.store(static_cast<uint64_t>(rank >> 64), platform::memory_order_release);
    }

   private:
    platform::atomic<uint64_t> key_{0};
    platform::atomic<uint64_t> primary_{0};
  };
};

// The ranks of a node. Cells that are not in use hold the highest rank, so that every search has
// the same number of steps, and no branch that could be mispredicted.
template <class Order, uint32_t kCapacity>
class SortedRanks {
  static constexpr uint32_t kGroup = 4;
  static_assert((kCapacity + 1) % kGroup == 0, "the last group lacks its last rank");

 public:
  using Rank = typename Order::Rank;

  SortedRanks() { clear_from(0); }
  Rank operator[](uint32_t i) const { return cells_[i].load(); }
  void store(uint32_t i, Rank rank) { cells_[i].store(rank); }
  void clear_from(uint32_t i) {
    for (; i < kCapacity; ++i) cells_[i].store(~Rank{0});
  }

  // Compares the last rank of each group, and then the other ranks of one group. A step of a binary
  // search would wait for the load of the step before; these loads overlap.
  uint32_t count_below(Rank rank) const {
    uint32_t groups = 0;
#pragma GCC unroll 8
    for (uint32_t i = kGroup - 1; i < kCapacity; i += kGroup) groups += cells_[i].load() < rank;
    uint32_t below = groups * kGroup;
    const auto* group = &cells_[below];
#pragma GCC unroll 8
    for (uint32_t i = 0; i < kGroup - 1; ++i) below += group[i].load() < rank;
    return below;
  }

 private:
  std::array<typename Order::Cell, kCapacity> cells_{};
};

// Holds the entries with ranks in [low, high]. At a split, `high` shrinks to the rank below the
// `low` of the new right neighbour. The range grows when an empty neighbour is removed. A removed
// leaf has the highest rank as its `low`, so it covers nothing.
template <class Order, uint32_t kCapacity>
struct alignas(platform::kCacheLine) Leaf : IndexNode {
  using Rank = typename Order::Rank;

  platform::atomic<uint32_t> count{0};
  uint32_t latest LJ_GUARDED_BY(this) = 0;  // position of the latest insert
  platform::atomic<Leaf*> next{nullptr};
  typename Order::Cell low;
  typename Order::Cell high;
  SortedRanks<Order, kCapacity> ranks;
  std::array<platform::atomic<Keyed*>, kCapacity> entries{};

  Leaf(Rank lowest, Rank highest) {
    low.store(lowest);
    high.store(highest);
  }

  bool covers(Rank rank) const { return low.load() <= rank && rank <= high.load(); }
  uint32_t size() const { return count.load(platform::memory_order_acquire); }
  uint32_t position_of(Rank rank) const { return ranks.count_below(rank); }
  Keyed* entry(uint32_t i) const { return entries[i].load(platform::memory_order_acquire); }

  void put(uint32_t i, Rank rank, Keyed* entry) {
    LJ_ASSERT_IN_TESTS(i < kCapacity && entry != nullptr);
    ranks.store(i, rank);
    entries[i].store(entry, platform::memory_order_release);
  }

  void insert_at(uint32_t position, Rank rank, Keyed* fresh) LJ_REQUIRES(this) {
    const uint32_t n = size();
    LJ_ASSERT_IN_TESTS(n < kCapacity && covers(rank));
    LJ_ASSERT_IN_TESTS(position <= n && (position == 0 || ranks[position - 1] < rank));
    LJ_ASSERT_IN_TESTS(position == n || rank < ranks[position]);
    for (uint32_t i = n; i > position; --i) put(i, ranks[i - 1], entry(i - 1));
    put(position, rank, fresh);
    count.store(n + 1, platform::memory_order_release);
    latest = position;
  }

  // Removes an entry. The freed cell keeps its pointer, which a reader may be about to use.
  void remove_at(uint32_t position) LJ_REQUIRES(this) {
    const uint32_t n = size();
    LJ_ASSERT_IN_TESTS(position < n);
    for (uint32_t i = position; i + 1 < n; ++i) put(i, ranks[i + 1], entry(i + 1));
    ranks.clear_from(n - 1);
    count.store(n - 1, platform::memory_order_release);
    if (latest >= position && latest > 0) --latest;
  }
};

// Routes the ranks in [low, high] to its children. Child i has the ranks up to and including
// separators[i]; the last child has the ranks above all separators. Directly above the leaves,
// `level` is 1, and the children are Leaf*.
template <class Order, uint32_t kCapacity>
struct alignas(platform::kCacheLine) Inner {
  using Rank = typename Order::Rank;

  platform::SpinLock latch;
  const uint32_t level;
  platform::atomic<uint32_t> count{0};       // of separators; the node has one child more
  uint32_t latest LJ_GUARDED_BY(latch) = 0;  // position of the latest insert
  platform::atomic<Inner*> next{nullptr};
  typename Order::Cell low;
  typename Order::Cell high;
  SortedRanks<Order, kCapacity> separators;
  std::array<platform::atomic<void*>, kCapacity + 1> children{};

  Inner(uint32_t level_above_leaves, Rank lowest, Rank highest, void* first_child)
      : level(level_above_leaves) {
    low.store(lowest);
    high.store(highest);
    children[0].store(first_child, platform::memory_order_release);
  }

  bool covers(Rank rank) const { return low.load() <= rank && rank <= high.load(); }
  uint32_t size() const { return count.load(platform::memory_order_acquire); }
  uint32_t position_of(Rank rank) const { return separators.count_below(rank); }
  void* child(uint32_t i) const { return children[i].load(platform::memory_order_acquire); }
  void* route(Rank rank) const { return child(position_of(rank)); }

  void put(uint32_t i, Rank separator, void* right) {
    LJ_ASSERT_IN_TESTS(i < kCapacity && right != nullptr);
    children[i + 1].store(right, platform::memory_order_release);
    separators.store(i, separator);
  }

  // Inserts the child `right`, which takes the ranks above `separator` from the child to its left.
  void insert_at(uint32_t position, Rank separator, void* right) LJ_REQUIRES(latch) {
    const uint32_t n = size();
    LJ_ASSERT_IN_TESTS(n < kCapacity && covers(separator));
    LJ_ASSERT_IN_TESTS(position <= n && (position == 0 || separators[position - 1] < separator));
    LJ_ASSERT_IN_TESTS(position == n || separator < separators[position]);
    for (uint32_t i = n; i > position; --i) put(i, separators[i - 1], child(i));
    put(position, separator, right);
    count.store(n + 1, platform::memory_order_release);
    latest = position;
  }

  // Removes child `i`. Its ranks go to the next child of this node, or else to the previous one.
  void remove_child(uint32_t i) LJ_REQUIRES(latch) {
    const uint32_t n = size();
    LJ_ASSERT(n > 0 && i <= n);
    for (uint32_t j = i; j < n; ++j) {
      children[j].store(child(j + 1), platform::memory_order_release);
    }
    for (uint32_t j = i; j + 1 < n; ++j) separators.store(j, separators[j + 1]);
    separators.clear_from(n - 1);
    count.store(n - 1, platform::memory_order_release);
    if (latest >= i && latest > 0) --latest;
  }
};

}  // namespace logjam::btree
