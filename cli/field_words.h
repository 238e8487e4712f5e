// The names that other benchmarks give to what logjam's flags say.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace logjam {

struct FieldWords {
  std::string_view flag;  // "threads"; of a key of a list "range=count:N", N in place of the number
  std::string_view words;  // what others call it, in small letters, with spaces around each
};
// Returns all words. Any thread may call this function and the next.
std::span<const FieldWords> field_words();

// Returns the FieldWords::flag for which `name` may stand, likely ones first. `name` has
// underscores in place of hyphens.
std::vector<std::string_view> meant_by(std::string_view name);

}  // namespace logjam
