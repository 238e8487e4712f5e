#include "engine/storage/btree.h"
#include "engine/storage/btree_removal.h"
#include "engine/storage/index.h"

namespace logjam {
namespace {

// Of the sizes from 15 to 127 ranks, this size was the fastest on one machine. A node takes nine
// cache lines, which the memory system loads in parallel.
constexpr uint32_t kRanks = 31;
using UniqueTree = btree::Tree<btree::ByKey, kRanks, kRanks>;
using PostingTree = btree::Tree<btree::ByKeyAndPrimary, kRanks, kRanks>;

}  // namespace

std::unique_ptr<Index> make_ordered_index(const IndexOptions& options) {
  if (options.unique) return std::make_unique<UniqueTree>();
  return std::make_unique<PostingTree>();
}

}  // namespace logjam
