// The ordered index: a B-link tree (Lehman and Yao, TODS 1981) with optimistic readers.
//
// Protocol. Every node covers a range of ranks, [low, high], and has a pointer to the next node of
// its level. A split publishes the new node through `next` before it shrinks `high`. So if a node's
// `high` is below the wanted rank, the wanted node is to the right. Nodes never change their level.
//
// Readers write nothing. They walk down the inner nodes without validation: if separators shift
// during the walk, a reader can only reach a wrong leaf, and the leaf's own fences say so. At the
// leaf, readers follow the protocol of index.h: structure word, contents, structure word again. A
// hit needs no validation, because the entry contains its own key. If another thread is removing
// the entry, its tuple is locked (reclaimer.h).
//
// An inserter holds one latch at a time, a leaf's or an inner node's, so inserters do not deadlock.
// Under the latch, a node's fences are exact. An inserter unlatches a node before it posts the
// node's new sibling in the parent; until then readers reach the sibling through `next`. Only the
// holder of the root's latch replaces the root.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/storage/arena.h"
#include "engine/storage/btree_node.h"
#include "engine/storage/free_list.h"
#include "engine/storage/index.h"
#include "platform/assert.h"
#include "platform/cpu.h"
#include "platform/spin.h"
#include "platform/thread_annotations.h"

namespace logjam::btree {

template <class Order, uint32_t kLeafCapacity, uint32_t kInnerCapacity>
class Tree final : public Index {
  using Rank = typename Order::Rank;
  using LeafNode = Leaf<Order, kLeafCapacity>;
  using InnerNode = Inner<Order, kInnerCapacity>;
  static_assert(sizeof(InnerNode) == sizeof(LeafNode));
  static constexpr Rank kLowest = 0;
  static constexpr Rank kHighest = ~Rank{0};

 public:
  bool unique() const override { return std::is_same_v<Order, ByKey>; }
  bool ordered() const override { return true; }

  using Index::find, Index::insert;

  Keyed* find(Key key, NodeVersion* missed_in, Finger* finger) override {
    LJ_ASSERT_IN_TESTS(unique());
    const Rank rank = Order::first_of(key);
    platform::SpinWait wait;
    for (;;) {
      LeafNode* leaf = leaf_near(finger, rank);
      const uint64_t seen = leaf->structure.load(platform::memory_order_acquire);
      const uint32_t n = leaf->size(), position = leaf->position_of(rank);
      if (position < n && leaf->ranks[position] == rank) {
        Keyed* entry = leaf->entry(position);
        if (entry->key == key) return entry;
      } else {
        const bool latched = (seen & IndexNode::kLatched) != 0;
        if (leaf->covers(rank) && !latched && unchanged_since(*leaf, seen)) {
          if (missed_in != nullptr) *missed_in = {leaf, seen};
          return nullptr;
        }
      }
      wait.once();
    }
  }

  InsertResult insert(Keyed* entry, Arena& arena, InsertGate gate, std::vector<NodeChange>* changes,
                      Finger* finger) override {
    const Rank rank = Order::rank_of(entry);
    uint64_t before = 0;
    LeafNode& leaf = latch_leaf_for(rank, &before, finger);
    assume_latched(leaf);
    const uint32_t n = leaf.size();
    const uint32_t position = leaf.position_of(rank);
    if (position < n && leaf.ranks[position] == rank) {
      Keyed* there = leaf.entry(position);
      unlatch_unchanged(leaf, before);
      return {.entry = there};
    }
    if (gate && !gate(leaf)) {
      unlatch_unchanged(leaf, before);
      return {.refused = true};
    }
    if (n < kLeafCapacity) {
      leaf.insert_at(position, rank, entry);
      note_change(changes,
                  {.node = &leaf, .before = before, .after = unlatch_changed(leaf, before)});
    } else {
      LeafNode* right = split(leaf, position, rank, entry, arena);
      if (gate) gate(*right);
      link(leaf, *right);
      note_change(changes,
                  {.node = &leaf, .before = before, .after = unlatch_changed(leaf, before)});
      note_change(changes, {.node = right, .created = true});
      post(1, right->low.load() - 1, right, arena);
    }
    return {.entry = entry, .inserted = true};
  }

  void find_all(Key key, const NodeVisitor& visit) override { scan(key, key, false, visit); }

  void scan(Key low, Key high, bool descending, const NodeVisitor& visit) override {
    if (low > high) return;
    if (descending) {
      scan_down(Order::first_of(low), Order::last_of(high), visit);
    } else {
      scan_up(Order::first_of(low), Order::last_of(high), visit);
    }
  }

  bool removes() const override { return unique(); }

  bool remove(Key key, Keyed* entry, std::vector<Retired>* retired) override;

  void recycle(const Retired& node, const Arena& arena) override {
    (node.kind == Retired::Kind::kLeaf ? free_leaves_ : free_inners_).free(node.memory, arena);
  }

  void for_each(uint32_t part, uint32_t parts, FunctionRef<void(Keyed*)> visit) override {
    LJ_ASSERT(part < parts);
    const std::vector<Rank> fences = upper_fences(parts);
    const size_t first = fences.size() * part / parts, end = fences.size() * (part + 1) / parts;
    if (first == end) return;
    const Rank highest = fences[end - 1];
    const LeafNode* leaf = first == 0 ? &first_leaf_ : leaf_for(fences[first - 1] + 1);
    for (; leaf != nullptr && leaf->low.load() <= highest;
         leaf = leaf->next.load(platform::memory_order_acquire)) {
      for (uint32_t i = 0; i < leaf->size(); ++i) visit(leaf->entry(i));
    }
  }

  // Reads a cache line of each leaf, because the inner nodes do not count the entries below them.
  // Inserts during the call may make the ranges uneven.
  std::vector<Key> split_keys(uint32_t parts) const override {
    std::vector<Key> keys;
    if constexpr (std::is_same_v<Rank, uint64_t>) {
      std::vector<std::pair<Rank, uint64_t>> leaves;  // highest rank; number of entries up to it
      uint64_t entries = 0;
      for (const LeafNode* leaf = &first_leaf_; leaf != nullptr;
           leaf = leaf->next.load(platform::memory_order_acquire)) {
        leaves.emplace_back(leaf->high.load(), entries += leaf->size());
      }
      size_t last = 0;  // the last leaf of the part
      for (uint32_t part = 1; part < parts; ++part) {
        while (leaves[last].second < entries * part / parts) ++last;
        if (leaves[last].first != kHighest) keys.push_back(leaves[last].first + 1);
      }
      std::ranges::sort(keys);
      keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    }
    return keys;
  }

  // Loads nothing, because only a descent finds the leaf.
  void prefetch(Key) const override {}

  // Descends for a group of keys together, so that the cache misses of a level overlap.
  void prefetch(std::span<const Key> keys, size_t entry_bytes) const override {
    constexpr size_t kGroup = 16;
    std::array<void*, kGroup> nodes;
    for (; !keys.empty(); keys = keys.subspan(std::min(keys.size(), kGroup))) {
      const std::span<const Key> group = keys.first(std::min(keys.size(), kGroup));
      InnerNode* const root = root_.load(platform::memory_order_acquire);
      nodes.fill(root);
      for (uint32_t level = root->level; level > 0; --level) {
        for (size_t i = 0; i < group.size(); ++i) {
          const Rank rank = Order::first_of(group[i]);
          nodes[i] = move_right(static_cast<InnerNode*>(nodes[i]), rank)->route(rank);
          prefetch_node(static_cast<const LeafNode*>(nodes[i]));  // or an inner node, as long
        }
      }
      for (size_t i = 0; i < group.size(); ++i) {
        const Rank rank = Order::first_of(group[i]);
        const LeafNode* leaf = move_right(static_cast<LeafNode*>(nodes[i]), rank);
        const uint32_t position = leaf->position_of(rank);
        if (position < leaf->size()) prefetch_entry(leaf->entry(position), entry_bytes);
      }
    }
  }

 private:
  // A consistent copy of a leaf.
  struct LeafSnapshot {
    uint64_t structure;
    Rank low;
    Rank high;
    LeafNode* next;
    uint32_t size = 0;
    std::array<Keyed*, kLeafCapacity> entries;
  };

  static void note_change(std::vector<NodeChange>* changes, const NodeChange& change) {
    if (changes != nullptr) changes->push_back(change);
  }

  template <class Node>
  static Node* move_right(Node* node, Rank rank) {
    while (node->high.load() < rank) node = node->next.load(platform::memory_order_acquire);
    return node;
  }

  InnerNode* inner_for(Rank rank, uint32_t level) const {
    InnerNode* node = root_.load(platform::memory_order_acquire);
    for (;;) {
      node = move_right(node, rank);
      if (node->level == level) return node;
      node = static_cast<InnerNode*>(node->route(rank));
    }
  }

  // Returns the leaf that most likely covers `rank`. The caller must check this.
  LeafNode* leaf_for(Rank rank) const {
    auto* leaf = static_cast<LeafNode*>(inner_for(rank, 1)->route(rank));
    prefetch_node(leaf);
    return move_right(leaf, rank);
  }

  template <class Node>
  static void prefetch_node(const Node* node) {
    for (size_t offset = 0; offset < sizeof(Node); offset += platform::kShortestLine) {
      platform::prefetch(reinterpret_cast<const std::byte*>(node) + offset);
    }
  }

  // Returns a leaf as leaf_for() does, but without a descent if the finger's leaf may cover `rank`.
  LeafNode* leaf_near(Finger* finger, Rank rank) const {
    if (finger == nullptr) return leaf_for(rank);
    if (finger->index == this) {
      auto* leaf = static_cast<LeafNode*>(finger->leaf);
      if (leaf->covers(rank)) return leaf;
    }
    LeafNode* leaf = leaf_for(rank);
    *finger = {this, leaf};
    return leaf;
  }

  // Returns the leaf latched; the caller unlatches it.
  LeafNode& latch_leaf_for(Rank rank, uint64_t* before, Finger* finger = nullptr) LJ_NOT_ANALYSED {
    platform::SpinWait wait;
    for (;;) {
      LeafNode* leaf = leaf_near(finger, rank);
      *before = latch(*leaf);
      if (leaf->covers(rank)) return *leaf;
      unlatch_unchanged(*leaf, *before);
      wait.once();
    }
  }

  // Returns the highest rank of each node of a level, from left to right: the highest level with at
  // least kNodesPerPart nodes for each of `parts` parts, or else the lowest inner level.
  std::vector<Rank> upper_fences(uint32_t parts) const {
    constexpr size_t kNodesPerPart = 4;
    std::vector<Rank> fences;
    const InnerNode* leftmost = root_.load(platform::memory_order_acquire);
    for (;;) {
      fences.clear();
      for (const InnerNode* node = leftmost; node != nullptr;
           node = node->next.load(platform::memory_order_acquire)) {
        fences.push_back(node->high.load());
      }
      if (leftmost->level == 1 || fences.size() >= kNodesPerPart * parts) return fences;
      leftmost = static_cast<const InnerNode*>(leftmost->child(0));
    }
  }

  // Copies the entries with ranks in [from, to]. Returns false if the leaf does not cover `rank`.
  static bool read_leaf(const LeafNode& leaf, Rank rank, Rank from, Rank to,
                        LeafSnapshot& snapshot) {
    for (;;) {
      snapshot.structure = begin_reading(leaf);
      snapshot.low = leaf.low.load();
      snapshot.high = leaf.high.load();
      snapshot.next = leaf.next.load(platform::memory_order_acquire);
      snapshot.size = 0;
      const uint32_t n = leaf.size();
      for (uint32_t i = leaf.position_of(from); i < n && leaf.ranks[i] <= to; ++i) {
        Keyed* entry = leaf.entry(i);
        platform::prefetch(entry);
        snapshot.entries[snapshot.size++] = entry;
      }
      if (unchanged_since(leaf, snapshot.structure))
        return snapshot.low <= rank && rank <= snapshot.high;
    }
  }

  void scan_up(Rank from, Rank to, const NodeVisitor& visit) {
    LeafSnapshot snapshot;
    platform::SpinWait wait;
    LeafNode* leaf = leaf_for(from);
    for (;;) {
      if (!read_leaf(*leaf, from, from, to, snapshot)) {
        wait.once();
        leaf = leaf_for(from);
        continue;
      }
      if (snapshot.high < to) platform::prefetch(snapshot.next);
      if (!visit({leaf, snapshot.structure}, {snapshot.entries.data(), snapshot.size})) return;
      if (snapshot.high >= to) return;
      // If the tree changes, and the next leaf does not cover this rank, read_leaf() returns false.
      from = snapshot.high + 1;
      leaf = snapshot.next;
    }
  }

  void scan_down(Rank from, Rank to, const NodeVisitor& visit) {
    LeafSnapshot snapshot;
    platform::SpinWait wait;
    for (;;) {
      LeafNode* leaf = leaf_for(to);
      if (!read_leaf(*leaf, to, from, to, snapshot)) {
        wait.once();
        continue;
      }
      std::reverse(snapshot.entries.begin(), snapshot.entries.begin() + snapshot.size);
      if (!visit({leaf, snapshot.structure}, {snapshot.entries.data(), snapshot.size})) return;
      if (snapshot.low <= from) return;
      to = snapshot.low - 1;
    }
  }

  // Divides the entries of a full leaf, and the entry to be inserted, between the leaf and a new
  // right neighbour, which no other thread can reach yet. If inserts come in ascending order, as in
  // a load or in TPC-C's order tables, the left leaf stays full.
  LeafNode* split(LeafNode& leaf, uint32_t position, Rank rank, Keyed* entry, Arena& arena)
      LJ_REQUIRES(leaf) {
    LJ_ASSERT(leaf.size() == kLeafCapacity);
    const Rank high = leaf.high.load();
    const bool ascending = position == leaf.latest + 1;
    const bool at_end = position == kLeafCapacity;
    uint32_t keep = kLeafCapacity / 2;
    if (at_end && (ascending || high == kHighest)) {
      keep = kLeafCapacity;
    } else if (ascending) {
      keep = position;
    }
    const bool goes_left = position <= keep && !(at_end && keep == kLeafCapacity);
    Rank highest_left = leaf.ranks[keep - 1];
    if (goes_left && position == keep) highest_left = rank;

    auto* right = new (node_memory<LeafNode>(free_leaves_, arena)) LeafNode(highest_left + 1, high);
    for (uint32_t i = keep; i < kLeafCapacity; ++i) {
      right->put(i - keep, leaf.ranks[i], leaf.entry(i));
    }
    right->count.store(kLeafCapacity - keep, platform::memory_order_release);
    right->next.store(leaf.next.load(platform::memory_order_acquire),
                      platform::memory_order_release);
    leaf.count.store(keep, platform::memory_order_release);
    leaf.ranks.clear_from(keep);
    if (goes_left) {
      leaf.insert_at(position, rank, entry);
    } else {
      assume_latched(*right);
      right->insert_at(position - keep, rank, entry);
    }
    return right;
  }

  template <class Node>
  static void link(Node& left, Node& right) {
    LJ_ASSERT_IN_TESTS(left.low.load() < right.low.load());
    LJ_ASSERT_IN_TESTS(left.high.load() == right.high.load());
    left.next.store(&right, platform::memory_order_release);
    left.high.store(right.low.load() - 1);
  }

  // Posts in the inner nodes of `level` that `right` has taken the ranks above `separator`.
  void post(uint32_t level, Rank separator, void* right, Arena& arena) {
    InnerNode& node = latch_inner_for(separator, level);
    assume_latched(node.latch);
    const uint32_t position = node.position_of(separator);
    if (node.size() < kInnerCapacity) {
      node.insert_at(position, separator, right);
      node.latch.unlock();
      return;
    }
    InnerNode* sibling = split(node, position, separator, right, arena);
    link(node, *sibling);
    const Rank middle = sibling->low.load() - 1;
    if (root_.load(platform::memory_order_acquire) == &node) {
      auto* root = new_inner(arena, level + 1, kLowest, kHighest, &node);
      assume_latched(root->latch);
      root->insert_at(0, middle, sibling);
      root_.store(root, platform::memory_order_release);
      node.latch.unlock();
      return;
    }
    node.latch.unlock();
    post(level + 1, middle, sibling, arena);
  }

  // Returns the node latched; the caller unlatches it.
  InnerNode& latch_inner_for(Rank rank, uint32_t level) LJ_NOT_ANALYSED {
    platform::SpinWait wait;
    // Waits for the new root: the old root's new sibling can be split before the new root exists.
    while (root_.load(platform::memory_order_acquire)->level < level) wait.once();
    for (;;) {
      InnerNode* node = inner_for(rank, level);
      node->latch.lock();
      if (node->covers(rank)) return *node;
      node->latch.unlock();
      wait.once();
    }
  }

  // Divides a full inner node. The middle separator becomes the fence between the two nodes.
  InnerNode* split(InnerNode& node, uint32_t position, Rank separator, void* right, Arena& arena)
      LJ_REQUIRES(node.latch) {
    LJ_ASSERT(node.size() == kInnerCapacity);
    const Rank high = node.high.load();
    const bool ascending = position == node.latest + 1;
    if (position == kInnerCapacity && (ascending || high == kHighest)) {
      auto* sibling = new_inner(arena, node.level, separator + 1, high, right);
      sibling->next.store(node.next.load(platform::memory_order_acquire),
                          platform::memory_order_release);
      return sibling;
    }
    const uint32_t keep = kInnerCapacity / 2;
    const Rank middle = node.separators[keep];
    auto* sibling = new_inner(arena, node.level, middle + 1, high, node.child(keep + 1));
    for (uint32_t i = keep + 1; i < kInnerCapacity; ++i) {
      sibling->put(i - keep - 1, node.separators[i], node.child(i + 1));
    }
    sibling->count.store(kInnerCapacity - keep - 1, platform::memory_order_release);
    sibling->next.store(node.next.load(platform::memory_order_acquire),
                        platform::memory_order_release);
    node.count.store(keep, platform::memory_order_release);
    node.separators.clear_from(keep);
    if (separator < middle) {
      node.insert_at(position, separator, right);
    } else {
      assume_latched(sibling->latch);
      sibling->insert_at(position - keep - 1, separator, right);
    }
    return sibling;
  }

  InnerNode* new_inner(Arena& arena, uint32_t level, Rank low, Rank high, void* child) {
    return new (node_memory<InnerNode>(free_inners_, arena)) InnerNode(level, low, high, child);
  }

  template <class Node>
  static void* node_memory(FreeList& free_list, Arena& arena) {
    void* block = free_list.allocate(arena);
    return block != nullptr ? block : arena.allocate(sizeof(Node), alignof(Node));
  }

  // --- removal: btree_removal.h ---

  struct HeldLatches;
  bool remove_empty_leaf(Rank rank, std::vector<Retired>* retired) LJ_REQUIRES(remover_);
  bool latch_ancestors(LeafNode& leaf, HeldLatches& held, std::vector<InnerNode*>& chain,
                       InnerNode** top, uint32_t* child) LJ_REQUIRES(remover_);
  template <class Node>
  void transfer_range(Node& node, Node& left, bool to_the_right, HeldLatches& held)
      LJ_REQUIRES(remover_);

  LeafNode first_leaf_{kLowest, kHighest};
  InnerNode first_root_{1, kLowest, kHighest, &first_leaf_};
  platform::atomic<InnerNode*> root_{&first_root_};
  platform::SpinLock remover_;
  FreeList free_leaves_{sizeof(LeafNode)};
  FreeList free_inners_{sizeof(InnerNode)};
};

}  // namespace logjam::btree
