// Entries taken out of the ordered index, and the leaves that are left empty (the leftmost and the
// rightmost stay).
//
// Protocol. An empty leaf's range goes to a neighbour below the same inner node, so that every
// node's children cover its range, no more; if it has none, the inner node is taken out with it,
// and so on upwards. Whoever does that holds all the latches involved, in no order: inserters wait
// for nothing while they hold one, and `remover_` lets one remover in at a time. A node that an
// inserter has not posted yet, or whose neighbour it has not, stays for the moment: its parent does
// not tell its range. Readers and writers that come to a node taken out find that it covers
// nothing, and start again; its memory stays as it is while they can be there (reclaimer.h).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/storage/btree.h"

namespace logjam::btree {

// The latches a remover holds.
template <class Order, uint32_t kLeafCapacity, uint32_t kInnerCapacity>
struct Tree<Order, kLeafCapacity, kInnerCapacity>::Held {
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
  void latch_into(LeafNode& leaf) { add(leaf, latch(leaf)); }
  void latch_into(InnerNode& node) {
    node.latch.lock();
    add(node);
  }
  void let_go(bool changed) {
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
    const uint32_t position = leaf.position_of(rank);
    leaf.remove_at(position);
    const bool empty = leaf.size() == 0;
    unlatch_changed(leaf, before);
    if (!empty) return true;
  }
  remover_.lock();
  const bool done = take_out_leaf(rank, retired);
  remover_.unlock();
  return done;
}

// Takes out the leaf that covers `rank` if it is empty. False: it cannot go now.
template <class Order, uint32_t kLeafCapacity, uint32_t kInnerCapacity>
bool Tree<Order, kLeafCapacity, kInnerCapacity>::take_out_leaf(Rank rank,
                                                               std::vector<Retired>* retired) {
  Held held;
  uint64_t before = 0;
  LeafNode& leaf = latch_leaf_for(rank, &before);
  held.add(leaf, before);
  const Rank low = leaf.low.load(), high = leaf.high.load();
  if (leaf.size() != 0 || low == kLowest || high == kHighest) {
    held.let_go(false);
    return true;
  }
  std::vector<InnerNode*> chain;
  InnerNode* top = nullptr;
  uint32_t child = 0;
  const bool routed = find_route(leaf, held, chain, &top, &child);
  uint64_t unguarded = 0;
  // A scanner under 2PL may guard the leaf; one that comes now finds it locked.
  if (!routed || !leaf.lock.compare_exchange_strong(unguarded, kLockedForGood,
                                                    platform::memory_order_seq_cst)) {
    held.let_go(false);
    return false;
  }

  const bool to_the_right = child < top->size();
  LeafNode& left = latch_leaf_for(low - 1, &before);
  hand_range_over(leaf, held.add(left, before), to_the_right, held);
  for (InnerNode* node : chain) {
    hand_range_over(*node, held.add(latch_inner_for(low - 1, node->level)), to_the_right, held);
  }
  top->remove_child(child);
  held.let_go(true);
  retired->push_back({&leaf, Retired::Kind::kLeaf});
  for (InnerNode* node : chain) retired->push_back({node, Retired::Kind::kInner});
  return true;
}

// Latches the leaf's ancestors: the chain of those with nothing else below them, and the one on top
// that has something. False: the leaf or its right neighbour is not posted yet.
template <class Order, uint32_t kLeafCapacity, uint32_t kInnerCapacity>
bool Tree<Order, kLeafCapacity, kInnerCapacity>::find_route(LeafNode& leaf, Held& held,
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

// `node` and `left` are latched; the neighbour that gets the range is as well, afterwards.
template <class Order, uint32_t kLeafCapacity, uint32_t kInnerCapacity>
template <class Node>
void Tree<Order, kLeafCapacity, kInnerCapacity>::hand_range_over(Node& node, Node& left,
                                                                 bool to_the_right, Held& held) {
  Node* right = node.next.load(platform::memory_order_acquire);
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
