#include "engine/storage/btree.h"
#include "engine/storage/index.h"

namespace logjam {
namespace {

// Nodes of half a KiB: eight lines, which the memory system loads at once. Measured with
// scripts/bench/index_bench.cc.
using UniqueTree = btree::Tree<btree::ByKey, 29, 29>;
using PostingTree = btree::Tree<btree::ByKeyAndPrimary, 29, 29>;

}  // namespace

std::unique_ptr<Index> make_ordered_index(const IndexOptions& options) {
  if (options.unique) return std::make_unique<UniqueTree>();
  return std::make_unique<PostingTree>();
}

}  // namespace logjam
