#include "platform/flag_list.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "platform/assert.h"
#include "platform/nearest_name.h"

namespace logjam::platform {
namespace {

// Returns the keys of a list and their numbers, as texts; the text is empty for a missing number.
std::vector<std::pair<std::string, std::string>> split(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> parts;
  std::istringstream in{std::string(text)};
  for (std::string part; std::getline(in, part, ',');) {
    const size_t colon = std::min(part.find(':'), part.size());
    parts.emplace_back(part.substr(0, colon), part.substr(std::min(colon + 1, part.size())));
  }
  return parts;
}

bool is_number(const std::string& text, double* value) {
  char* end = nullptr;
  *value = std::strtod(text.c_str(), &end);
  return *end == '\0';
}

bool is_in(const std::string& number, const ListKey& key) {
  if (number.empty()) return key.least == 1 && key.most == 1;
  double value = 0;
  if (!is_number(number, &value) || (key.whole && value != std::floor(value))) return false;
  return value >= key.least && value <= key.most;  // false for NaN
}

std::string range_of(const ListKey& key) {
  std::ostringstream text;
  text.precision(12);
  text << (key.whole ? "a whole number" : "a number") << " from " << key.least << " to "
       << key.most;
  return text.str();
}

}  // namespace

std::string check_list(std::string_view flag, std::string_view text,
                       std::span<const ListKey> keys) {
  LJ_ASSERT(std::ranges::all_of(keys, [](const ListKey& key) { return key.least <= key.most; }));
  const std::string given = "--" + std::string(flag) + "=" + std::string(text);
  std::set<std::string> seen;
  for (const auto& [name, number] : split(text)) {
    const auto key = std::ranges::find(keys, name, &ListKey::name);
    if (key == keys.end()) {
      std::vector<std::string_view> known;
      for (const ListKey& each : keys) known.push_back(each.name);
      return given + ": \"" + name + "\" is not a key of the list" + instead_of(name, known);
    }
    if (!seen.insert(name).second) return given + ": " + name + " stands twice in the list";
    if (!is_in(number, *key)) {
      double ignored = 0;
      return given + ": " + name + " needs " + range_of(*key) +
             (is_number(number, &ignored) ? "" : ", without a unit, not \"" + number + "\"");
    }
  }
  return "";
}

double listed(std::string_view text, std::string_view key, double otherwise) {
  for (const auto& [name, number] : split(text)) {
    if (name == key) return number.empty() ? 1 : std::strtod(number.c_str(), nullptr);
  }
  return otherwise;
}

}  // namespace logjam::platform
