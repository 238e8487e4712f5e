#include "cc/access_set.h"

#include <algorithm>

namespace logjam {

void WriteSet::sort_by_address() {
  constexpr size_t kInsertionSortUpTo = 24;
  sorted_ = true;
  if (writes_.size() > kInsertionSortUpTo) {
    std::sort(writes_.begin(), writes_.end(),
              [](const Write& a, const Write& b) { return a.tuple < b.tuple; });
    return;
  }
  for (size_t i = 1; i < writes_.size(); ++i) {
    if (writes_[i - 1].tuple < writes_[i].tuple) continue;
    const Write moved = writes_[i];
    size_t to = i;
    for (; to > 0 && moved.tuple < writes_[to - 1].tuple; --to) writes_[to] = writes_[to - 1];
    writes_[to] = moved;
  }
}

bool WriteSet::changes_anything() const {
  return std::any_of(writes_.begin(), writes_.end(), [](const Write& w) { return w.changes(); });
}

bool NodeSet::remember(NodeVersion node) {
  const uint32_t at = by_node_.find(node.node);
  if (at != PointerMap::kNone) return nodes_[at].structure == node.structure;
  by_node_.insert(node.node, static_cast<uint32_t>(nodes_.size()));
  nodes_.push_back(node);
  return true;
}

bool NodeSet::apply(std::span<const NodeChange> changes) {
  if (nodes_.empty()) return true;
  for (size_t i = 0; i < changes.size(); ++i) {
    const NodeChange& change = changes[i];
    if (change.created) {
      LJ_ASSERT(i > 0 && !changes[i - 1].created);
      const bool tracked = by_node_.find(changes[i - 1].node) != PointerMap::kNone;
      if (tracked && !remember({change.node, change.after})) return false;
      continue;
    }
    const uint32_t at = by_node_.find(change.node);
    if (at == PointerMap::kNone) continue;
    if (nodes_[at].structure != change.before) return false;
    nodes_[at].structure = change.after;
  }
  return true;
}

bool NodeSet::unchanged() const {
  // seq_cst orders these loads after the locking of the writes (proof in occ.cc).
  return std::all_of(nodes_.begin(), nodes_.end(), [](const NodeVersion& seen) {
    return seen.node->structure.load(platform::memory_order_seq_cst) == seen.structure;
  });
}

}  // namespace logjam
