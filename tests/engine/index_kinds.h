// Every kind of index. Each ordered index also has a variant with small nodes, which split often.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "engine/storage/btree_removal.h"
#include "engine/storage/index.h"

namespace logjam {

struct IndexMaker {
  std::string name;
  std::function<std::unique_ptr<Index>()> make;
};
inline void PrintTo(const IndexMaker& maker, std::ostream* out) { *out << maker.name; }

inline std::vector<IndexMaker> unique_ordered_kinds() {
  return {{"Ordered", [] { return make_ordered_index({.unique = true}); }},
          {"OrderedTiny", [] { return std::make_unique<btree::Tree<btree::ByKey, 3, 3>>(); }}};
}

inline std::vector<IndexMaker> unique_kinds() {
  auto kinds = unique_ordered_kinds();
  kinds.push_back(
      {"Hash", [] { return make_hash_index({.unique = true, .expected_entries = 1 << 14}); }});
  kinds.push_back(
      {"HashCrowded", [] { return make_hash_index({.unique = true, .expected_entries = 8192}); }});
  return kinds;
}

inline std::vector<IndexMaker> posting_kinds() {
  return {
      {"OrderedPostings", [] { return make_ordered_index({.unique = false}); }},
      {"OrderedPostingsTiny",
       [] { return std::make_unique<btree::Tree<btree::ByKeyAndPrimary, 3, 3>>(); }},
      {"HashPostings", [] { return make_hash_index({.unique = false, .expected_entries = 64}); }}};
}

struct NameOf {
  template <class Info>
  std::string operator()(const Info& info) const {
    return info.param.name;
  }
};

}  // namespace logjam
