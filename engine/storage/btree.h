// The ordered index: a B-link tree (Lehman and Yao, TODS 1981) with optimistic readers.
//
// Protocol. Every node covers a range of ranks, [low, high], and knows the next node of its level.
// `high` shrinks when the node splits, and a split publishes the new node through `next` before it
// shrinks `high`, so from a node whose `high` is too low the wanted one is found to the right.
// Nodes are never moved to another level.
//
// Readers write nothing. They walk down inner nodes without validating them: a rank read while
// separators shift can only lead to a wrong leaf, and a leaf tells by its own fences whether it is
// the right one. At the leaf they follow index.h: structure word, contents, structure word again. A
// hit needs no validation, because the entry names its own key; one that is being taken out is
// locked (reclaimer.h).
//
// An inserter holds one latch at a time, a leaf's or an inner node's, so there is no deadlock.
// Under the latch a node's fences are exact. A node is unlatched before its new sibling is posted
// in the parent: until then the sibling is reached through `next`. Only the holder of the root's
// latch replaces the root.
//
// Leaves that are left empty are taken out: btree_removal.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "engine/storage/arena.h"
#include "engine/storage/btree_node.h"
#include "engine/storage/free_list.h"
#include "engine/storage/index.h"
#include "engine/storage/node_latch.h"
#include "platform/spin.h"

namespace logjam::btree {

template <class Order, uint32_t kLeafCapacity, uint32_t kInnerCapacity>
class Tree final : public Index {
  using Rank = typename Order::Rank;
  using LeafNode = Leaf<Order, kLeafCapacity>;
  using InnerNode = Inner<Order, kInnerCapacity>;
  static constexpr Rank kLowest = 0;
  static constexpr Rank kHighest = ~Rank{0};

 public:
  bool unique() const override { return std::is_same_v<Order, ByKey>; }
  bool ordered() const override { return true; }

  Keyed* find(Key key, NodeSight* missed_in) override {
    const Rank rank = Order::first_of(key);
    platform::SpinWait wait;
    for (;;) {
      LeafNode* leaf = leaf_for(rank);
      const uint64_t seen = leaf->structure.load(platform::memory_order_acquire);
      const uint32_t n = leaf->size();
      const uint32_t position = leaf->position_of(rank);
      if (position < n && leaf->ranks[position] == rank) {
        Keyed* entry = leaf->entry(position);
        if (entry->key == key) return entry;
      } else {
        const bool here = leaf->covers(rank);
        if (here && (seen & IndexNode::kLatched) == 0 && still(*leaf, seen)) {
          if (missed_in != nullptr) *missed_in = {leaf, seen};
          return nullptr;
        }
      }
      wait.once();
    }
  }

  InsertResult insert(Keyed* entry, Arena& arena, InsertGate gate,
                      std::vector<NodeChange>* changes) override {
    const Rank rank = Order::rank_of(entry);
    uint64_t before = 0;
    LeafNode& leaf = latch_leaf_for(rank, &before);
    const uint32_t n = leaf.size();
    const uint32_t position = leaf.position_of(rank);
    if (position < n && leaf.ranks[position] == rank) {
      unlatch_unchanged(leaf, before);
      return {.entry = leaf.entry(position)};
    }
    if (gate && !gate(leaf)) {
      unlatch_unchanged(leaf, before);
      return {.refused = true};
    }
    if (n < kLeafCapacity) {
      leaf.insert_at(position, rank, entry);
      note(changes, {.node = &leaf, .before = before, .after = unlatch_changed(leaf, before)});
    } else {
      LeafNode* right = split(leaf, position, rank, entry, arena);
      if (gate) gate(*right);
      link(leaf, *right);
      note(changes, {.node = &leaf, .before = before, .after = unlatch_changed(leaf, before)});
      note(changes, {.node = right, .created = true});
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

  void recycle(const Retired& node) override {
    (node.kind == Retired::Kind::kLeaf ? free_leaves_ : free_inners_).give(node.memory);
  }

  void for_each(FunctionRef<void(Keyed*)> visit) override {
    for (const LeafNode* leaf = &first_leaf_; leaf != nullptr;
         leaf = leaf->next.load(platform::memory_order_acquire)) {
      for (uint32_t i = 0; i < leaf->size(); ++i) visit(leaf->entry(i));
    }
  }

  // Where the key is, only a descent would tell, and that is most of what a find costs: measured, a
  // descent to prefetch and another to find is slower than finding alone.
  void prefetch(Key) const override {}

 private:
  // A leaf as it was at one moment.
  struct Picture {
    uint64_t structure;
    Rank low;
    Rank high;
    LeafNode* next;
    uint32_t size = 0;
    std::array<Keyed*, kLeafCapacity> entries;
  };

  static void note(std::vector<NodeChange>* changes, const NodeChange& change) {
    if (changes != nullptr) changes->push_back(change);
  }

  // --- walking down ---

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

  // Most likely the leaf that covers `rank`; the caller checks.
  LeafNode* leaf_for(Rank rank) const {
    auto* leaf = static_cast<LeafNode*>(inner_for(rank, 1)->route(rank));
    load_early(leaf);
    return move_right(leaf, rank);
  }

  // All lines of a node at once, instead of one after the other as the search comes to them.
  template <class Node>
  static void load_early(const Node* node) {
    for (size_t offset = 0; offset < sizeof(Node); offset += platform::kCacheLine) {
      __builtin_prefetch(reinterpret_cast<const std::byte*>(node) + offset);
    }
  }

  LeafNode& latch_leaf_for(Rank rank, uint64_t* before) {
    platform::SpinWait wait;
    for (;;) {
      LeafNode* leaf = leaf_for(rank);
      *before = latch(*leaf);
      if (leaf->covers(rank)) return *leaf;
      unlatch_unchanged(*leaf, *before);
      wait.once();
    }
  }

  // --- scanning ---

  // False if the leaf does not cover `rank` (any more).
  static bool read(const LeafNode& leaf, Rank rank, Rank from, Rank to, Picture& picture) {
    for (;;) {
      picture.structure = begin_reading(leaf);
      picture.low = leaf.low.load();
      picture.high = leaf.high.load();
      picture.next = leaf.next.load(platform::memory_order_acquire);
      picture.size = 0;
      const uint32_t n = leaf.size();
      for (uint32_t i = leaf.position_of(from); i < n && leaf.ranks[i] <= to; ++i) {
        Keyed* entry = leaf.entry(i);
        __builtin_prefetch(entry);
        picture.entries[picture.size++] = entry;
      }
      if (still(leaf, picture.structure)) return picture.low <= rank && rank <= picture.high;
    }
  }

  void scan_up(Rank from, Rank to, const NodeVisitor& visit) {
    Picture picture;
    platform::SpinWait wait;
    LeafNode* leaf = leaf_for(from);
    for (;;) {
      if (!read(*leaf, from, from, to, picture)) {
        wait.once();
        leaf = leaf_for(from);
        continue;
      }
      if (picture.high < to) __builtin_prefetch(picture.next);
      if (!visit({leaf, picture.structure}, {picture.entries.data(), picture.size})) return;
      if (picture.high >= to) return;
      // Whatever happens meanwhile: the next leaf covers this rank, or read() says that it does
      // not.
      from = picture.high + 1;
      leaf = picture.next;
    }
  }

  void scan_down(Rank from, Rank to, const NodeVisitor& visit) {
    Picture picture;
    platform::SpinWait wait;
    for (;;) {
      LeafNode* leaf = leaf_for(to);
      if (!read(*leaf, to, from, to, picture)) {
        wait.once();
        continue;
      }
      std::reverse(picture.entries.begin(), picture.entries.begin() + picture.size);
      if (!visit({leaf, picture.structure}, {picture.entries.data(), picture.size})) return;
      if (picture.low <= from) return;
      to = picture.low - 1;
    }
  }

  // --- splitting ---

  // Divides a full, latched leaf and the entry to be inserted among it and a new right neighbour,
  // which nobody can reach yet. Where inserts come in ascending order (a load, or the end of a
  // key's own range: orders of a district) the left part stays full.
  LeafNode* split(LeafNode& leaf, uint32_t position, Rank rank, Keyed* entry, Arena& arena) {
    const Rank high = leaf.high.load();
    const bool run = position == leaf.latest + 1;
    const bool at_end = position == kLeafCapacity;
    uint32_t keep = kLeafCapacity / 2;
    if (at_end && (run || high == kHighest)) {
      keep = kLeafCapacity;
    } else if (run) {
      keep = position;
    }
    const bool goes_left = position <= keep && !(at_end && keep == kLeafCapacity);
    Rank highest_left = leaf.ranks[keep - 1];
    if (goes_left && position == keep) highest_left = rank;

    auto* right = new (memory<LeafNode>(free_leaves_, arena)) LeafNode(highest_left + 1, high);
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
      right->insert_at(position - keep, rank, entry);
    }
    return right;
  }

  template <class Node>
  static void link(Node& left, Node& right) {
    left.next.store(&right, platform::memory_order_release);
    left.high.store(right.low.load() - 1);
  }

  // Tells the inner nodes of `level` that `right` took the ranks above `separator`.
  void post(uint32_t level, Rank separator, void* right, Arena& arena) {
    InnerNode& node = latch_inner_for(separator, level);
    const uint32_t position = node.position_of(separator);
    if (node.size() < kInnerCapacity) {
      node.insert_at(position, separator, right);
      node.latch.unlock();
      return;
    }
    InnerNode* sibling = split(node, position, separator, right, arena);
    link(node, *sibling);
    const Rank between = sibling->low.load() - 1;
    if (root_.load(platform::memory_order_acquire) == &node) {
      auto* root = new_inner(arena, level + 1, kLowest, kHighest, &node);
      root->insert_at(0, between, sibling);
      root_.store(root, platform::memory_order_release);
      node.latch.unlock();
      return;
    }
    node.latch.unlock();
    post(level + 1, between, sibling, arena);
  }

  InnerNode& latch_inner_for(Rank rank, uint32_t level) {
    platform::SpinWait wait;
    // A sibling of the root can be reached, and split, before the new root above both is in place.
    while (root_.load(platform::memory_order_acquire)->level < level) wait.once();
    for (;;) {
      InnerNode* node = inner_for(rank, level);
      node->latch.lock();
      if (node->covers(rank)) return *node;
      node->latch.unlock();
      wait.once();
    }
  }

  // As for leaves. The separator in the middle moves up: it becomes the fence between the two.
  InnerNode* split(InnerNode& node, uint32_t position, Rank separator, void* right, Arena& arena) {
    const Rank high = node.high.load();
    const bool run = position == node.latest + 1;
    if (position == kInnerCapacity && (run || high == kHighest)) {
      auto* sibling = new_inner(arena, node.level, separator + 1, high, right);
      sibling->next.store(node.next.load(platform::memory_order_acquire),
                          platform::memory_order_release);
      return sibling;
    }
    const uint32_t keep = kInnerCapacity / 2;
    const Rank between = node.separators[keep];
    auto* sibling = new_inner(arena, node.level, between + 1, high, node.child(keep + 1));
    for (uint32_t i = keep + 1; i < kInnerCapacity; ++i) {
      sibling->put(i - keep - 1, node.separators[i], node.child(i + 1));
    }
    sibling->count.store(kInnerCapacity - keep - 1, platform::memory_order_release);
    sibling->next.store(node.next.load(platform::memory_order_acquire),
                        platform::memory_order_release);
    node.count.store(keep, platform::memory_order_release);
    node.separators.clear_from(keep);
    if (separator < between) {
      node.insert_at(position, separator, right);
    } else {
      sibling->insert_at(position - keep - 1, separator, right);
    }
    return sibling;
  }

  InnerNode* new_inner(Arena& arena, uint32_t level, Rank low, Rank high, void* child) {
    return new (memory<InnerNode>(free_inners_, arena)) InnerNode(level, low, high, child);
  }

  template <class Node>
  static void* memory(FreeList& free, Arena& arena) {
    void* piece = free.take();
    return piece != nullptr ? piece : arena.allocate(sizeof(Node), alignof(Node));
  }

  // --- taking out: btree_removal.h ---

  struct Held;
  bool take_out_leaf(Rank rank, std::vector<Retired>* retired);
  bool find_route(LeafNode& leaf, Held& held, std::vector<InnerNode*>& chain, InnerNode** top,
                  uint32_t* child);
  template <class Node>
  void hand_range_over(Node& node, Node& left, bool to_the_right, Held& held);

  LeafNode first_leaf_{kLowest, kHighest};
  InnerNode first_root_{1, kLowest, kHighest, &first_leaf_};
  platform::atomic<InnerNode*> root_{&first_root_};
  platform::SpinLock remover_;
  FreeList free_leaves_;
  FreeList free_inners_;
};

}  // namespace logjam::btree
