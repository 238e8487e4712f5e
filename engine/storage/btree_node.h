// Nodes of the ordered index: how keys are kept, searched, inserted and moved within one node.
//
// Every field that readers touch is atomic, loaded with acquire and stored with release: readers
// run beside a writer and judge afterwards whether what they saw can stand (protocol: btree.h). On
// x86 those are plain loads and stores.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "engine/storage/index.h"
#include "engine/storage/tuple.h"
#include "platform/atomic.h"
#include "platform/spin.h"

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

// How a non-unique index orders postings: by key, then primary. A rank read beside a writer may mix
// two ranks. The primary is stored first because cells change to lower ranks: a mixture is then no
// lower than the new rank, and leads to the left of the wanted node, from where it can be found.
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

// The cells of a node's ranks. Those not in use hold the highest rank, so that a search takes the
// same few steps in every node, without a branch that could be mispredicted.
template <class Order, uint32_t kCapacity>
class SortedRanks {
  static_assert(std::has_single_bit(kCapacity + 1), "a search halves the cells down to one");

 public:
  using Rank = typename Order::Rank;

  SortedRanks() { clear_from(0); }
  Rank operator[](uint32_t i) const { return cells_[i].load(); }
  void store(uint32_t i, Rank rank) { cells_[i].store(rank); }
  void clear_from(uint32_t i) {
    for (; i < kCapacity; ++i) cells_[i].store(~Rank{0});
  }

  // How many are below `rank`.
  uint32_t count_below(Rank rank) const {
    uint32_t below = 0;
#pragma GCC unroll 8
    for (uint32_t half = (kCapacity + 1) / 2; half != 0; half /= 2) {
      below += half & -static_cast<uint32_t>(cells_[below + half - 1].load() < rank);
    }
    return below;
  }

 private:
  std::array<typename Order::Cell, kCapacity> cells_{};
};

// A leaf: entries with ranks in [low, high]. `high` shrinks at a split, to the rank below the `low`
// of the leaf then put behind it. The range grows when an empty neighbour is taken out. One that
// was taken out itself has the highest `low`, so that it covers nothing.
template <class Order, uint32_t kCapacity>
struct alignas(platform::kCacheLine) Leaf : IndexNode {
  using Rank = typename Order::Rank;

  platform::atomic<uint32_t> count{0};
  uint32_t latest = 0;  // where the latest insert went; only under the latch
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
    ranks.store(i, rank);
    entries[i].store(entry, platform::memory_order_release);
  }

  // Under the latch, with room. Entries below `count` are never null, at no moment.
  void insert_at(uint32_t position, Rank rank, Keyed* fresh) {
    const uint32_t n = size();
    for (uint32_t i = n; i > position; --i) put(i, ranks[i - 1], entry(i - 1));
    put(position, rank, fresh);
    count.store(n + 1, platform::memory_order_release);
    latest = position;
  }

  // Under the latch. The cell behind the last entry keeps its pointer, for readers on their way.
  void remove_at(uint32_t position) {
    const uint32_t n = size();
    for (uint32_t i = position; i + 1 < n; ++i) put(i, ranks[i + 1], entry(i + 1));
    ranks.clear_from(n - 1);
    count.store(n - 1, platform::memory_order_release);
    if (latest >= position && latest > 0) --latest;
  }
};

// An inner node routes ranks in [low, high] to children: child i holds ranks up to and including
// separators[i], the last child the rest. `level` is 1 above leaves. Children are Leaf* at level 1.
template <class Order, uint32_t kCapacity>
struct alignas(platform::kCacheLine) Inner {
  using Rank = typename Order::Rank;

  platform::SpinLock latch;
  const uint32_t level;
  platform::atomic<uint32_t> count{0};  // of separators; there is one child more
  uint32_t latest = 0;                  // where the latest insert went; only under the latch
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
    children[i + 1].store(right, platform::memory_order_release);
    separators.store(i, separator);
  }

  // Under the latch, with room: `right` takes the ranks above `separator` from the child that has
  // them. Children up to `count` are never null, at no moment.
  void insert_at(uint32_t position, Rank separator, void* right) {
    const uint32_t n = size();
    for (uint32_t i = n; i > position; --i) put(i, separators[i - 1], child(i));
    put(position, separator, right);
    count.store(n + 1, platform::memory_order_release);
    latest = position;
  }

  // Under the latch: takes out child `i`, whose ranks go to its right neighbour here, or, if it is
  // the last, to its left one.
  void remove_child(uint32_t i) {
    const uint32_t n = size();
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
