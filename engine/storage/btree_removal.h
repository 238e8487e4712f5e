// Removes entries from the ordered index, and empty leaves except the leftmost and the rightmost.
//
// Protocol. The range of an empty leaf goes to a neighbour below the same inner node, so that the
// children of a node cover exactly the node's range. If the leaf has no neighbour there, the inner
// node is removed with the leaf, and so on upwards. The remover holds the latches of all nodes that
// it changes, and takes them in no particular order. This cannot deadlock: an inserter waits for no
// latch while it holds a latch, and `remover_` admits one remover at a time.
//
// If an inserter has not yet posted the node or its neighbour, the parent does not show the node's
// range, and the node stays until a later call. Readers and writers that reach a removed node find
// that it covers nothing, and start again. The node's memory does not change while a reader may use
// it (reclaimer.h).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/storage/btree.h"

namespace logjam::btree {

// The latches that a remover holds.
template <class Order, uint32_t kLeafCapacity, uint32_t kInnerCapacity>
struct Tree<Order, kLeafCapacity, kInnerCapacity>::HeldLatches {
  struct LeafLatch {
    LeafNode* leaf;
    uint64_t before;
  };
  std::vector<LeafLatch> leaves;
  std::vector<InnerNode*> inners;

  LeafNode& add(LeafNode& leaf, uint64_t before) {
    leaves.push_back({&leaf, before});
    return leaf;
  }
  InnerNode& add(InnerNode& inner) {
    inners.push_back(&inner);
    return inner;
  }
  void latch_into(LeafNode& leaf) LJ_NOT_ANALYSED { add(leaf, latch(leaf)); }
  void latch_into(InnerNode& node) LJ_NOT_ANALYSED {
    node.latch.lock();
    add(node);
  }
  void unlatch_all(bool changed) LJ_NOT_ANALYSED {
    for (InnerNode* inner : inners) inner->latch.unlock();
    for (const LeafLatch& held : leaves) {
      changed ? static_cast<void>(unlatch_changed(*held.leaf, held.before))
              : unlatch_unchanged(*held.leaf, held.before);
    }
  }
};

template <class Order, uint32_t kLeafCapacity, uint32_t kInnerCapacity>
bool Tree<Order, kLeafCapacity, kInnerCapacity>::remove(Key key, Keyed* entry,
                                                        std::vector<Retired>* retired) {
  const Rank rank = Order::first_of(key);
  if (entry != nullptr) {
    uint64_t before = 0;
    LeafNode& leaf = latch_leaf_for(rank, &before);
    assume_latched(leaf);
    const uint32_t position = leaf.position_of(rank);
    LJ_ASSERT_IN_TESTS(position < leaf.size() && leaf.entry(position) == entry);
    leaf.remove_at(position);
    const bool empty = leaf.size() == 0;
    unlatch_changed(leaf, before);
    if (!empty) return true;
  }
  const platform::lock_guard<platform::SpinLock> hold(remover_);
  return remove_empty_leaf(rank, retired);
}

// Removes the leaf that covers `rank` if it is empty. Returns false if the removal must wait.
template <class Order, uint32_t kLeafCapacity, uint32_t kInnerCapacity>
bool Tree<Order, kLeafCapacity, kInnerCapacity>::remove_empty_leaf(Rank rank,
                                                                   std::vector<Retired>* retired) {
  HeldLatches held;
  uint64_t before = 0;
  LeafNode& leaf = latch_leaf_for(rank, &before);
  held.add(leaf, before);
  const Rank low = leaf.low.load(), high = leaf.high.load();
  if (leaf.size() != 0 || low == kLowest || high == kHighest) {
    held.unlatch_all(false);
    return true;
  }
  std::vector<InnerNode*> chain;
  InnerNode* top = nullptr;
  uint32_t child = 0;
  const bool routed = latch_ancestors(leaf, held, chain, &top, &child);
  uint64_t unguarded = 0;
  // A scanner may hold this lock (2PL). Otherwise lock it for ever, so that later scanners abort.
  if (!routed || !leaf.lock.compare_exchange_strong(unguarded, kLockedForever,
                                                    platform::memory_order_seq_cst)) {
    held.unlatch_all(false);
    return false;
  }

  const bool to_the_right = child < top->size();
  LeafNode& left = latch_leaf_for(low - 1, &before);
  transfer_range(leaf, held.add(left, before), to_the_right, held);
  for (InnerNode* node : chain) {
    transfer_range(*node, held.add(latch_inner_for(low - 1, node->level)), to_the_right, held);
  }
  assume_latched(top->latch);
  top->remove_child(child);
  held.unlatch_all(true);
  retired->push_back({&leaf, Retired::Kind::kLeaf});
  for (InnerNode* node : chain) retired->push_back({node, Retired::Kind::kInner});
  return true;
}

// Latches the leaf's ancestors up to `*top`, the lowest ancestor with another child. The ancestors
// below `*top` go to `chain`. The leaf lies below the child of `*top` at position `*child`. Returns
// false if the leaf or its right neighbour is not posted yet.
template <class Order, uint32_t kLeafCapacity, uint32_t kInnerCapacity>
bool Tree<Order, kLeafCapacity, kInnerCapacity>::latch_ancestors(LeafNode& leaf, HeldLatches& held,
                                                                 std::vector<InnerNode*>& chain,
                                                                 InnerNode** top, uint32_t* child) {
  const Rank high = leaf.high.load();
  void* below = &leaf;
  for (uint32_t level = 1;; ++level) {
    if (root_.load(platform::memory_order_acquire)->level < level) return false;
    InnerNode& node = held.add(latch_inner_for(high, level));
    *top = &node;
    *child = node.position_of(high);
    const bool last = *child == node.size();
    if (node.child(*child) != below) return false;
    if ((last ? node.high.load() : node.separators[*child]) != high) return false;
    if (node.size() > 0) return true;
    chain.push_back(&node);
    below = &node;
  }
}

// Gives the range of `node` to its right or its left neighbour, and unlinks `node`. `held` has the
// latches of `node` and `left`. If the right neighbour gets the range, takes its latch too.
template <class Order, uint32_t kLeafCapacity, uint32_t kInnerCapacity>
template <class Node>
void Tree<Order, kLeafCapacity, kInnerCapacity>::transfer_range(Node& node, Node& left,
                                                                bool to_the_right,
                                                                HeldLatches& held) {
  Node* right = node.next.load(platform::memory_order_acquire);
  LJ_ASSERT(left.next.load(platform::memory_order_relaxed) == &node);
  if (to_the_right) {
    held.latch_into(*right);
    right->low.store(node.low.load());
  } else {
    left.high.store(node.high.load());
  }
  left.next.store(right, platform::memory_order_release);
  node.low.store(kHighest);
}

}  // namespace logjam::btree
