// Text as JSON. Any thread may call these functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace logjam {

// Returns `text` as a JSON string, with its quotes. Bytes that are not UTF-8 become question marks,
// because the whole of a JSON file must be UTF-8.
std::string json_text(std::string_view text);
// Returns a JSON object. The values of its members are JSON already; their names are not.
std::string json_object(const std::vector<std::pair<std::string, std::string>>& members);
// Returns a JSON array. Its items are JSON already.
std::string json_array(const std::vector<std::string>& items);

}  // namespace logjam
