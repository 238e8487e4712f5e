// Flags whose value is a list of keys with numbers, such as --flush=txns:8,us:500. If 1 is the only
// number of a key, only the key is written: --checkpoint=end. Any thread may call these functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace logjam::platform {

// A key that may stand in a list, and the range of the number after it.
struct ListKey {
  std::string_view name;
  double least = 0, most = 0;
  bool whole = true;  // whole numbers only
};

// Returns why `text` cannot be the value of --`flag`, in one sentence, or an empty string. A list
// is empty, or has some of `keys`, each at most once, with a number in the key's range.
std::string check_list(std::string_view flag, std::string_view text, std::span<const ListKey> keys);

// Returns the number of `key` in a list that check_list() accepts, or `otherwise` without the key.
double listed(std::string_view text, std::string_view key, double otherwise = 0);

}  // namespace logjam::platform
