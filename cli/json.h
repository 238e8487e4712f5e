// Text as JSON. Any thread may call these functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace logjam {

// `text` as a JSON string, with its quotes. Bytes that are no UTF-8 become question marks, because
// a JSON file must be UTF-8 as a whole.
std::string json_text(std::string_view text);
// An object and an array. The members' values, and the items, are JSON already; names are not.
std::string json_object(const std::vector<std::pair<std::string, std::string>>& members);
std::string json_array(const std::vector<std::string>& items);

}  // namespace logjam
