// Texts of lists and of numbers, for sentences, rows and files.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace logjam::platform {

// Appends `part` to `list`, after `separator` unless `list` is empty.
inline void append_part(std::string* list, std::string_view separator, std::string_view part) {
  if (!list->empty()) *list += separator;
  *list += part;
}

// Returns text_of(item) of each of `items`, with `separator` between two of them.
template <class Items, class TextOf = std::identity>
std::string join(const Items& items, std::string_view separator, TextOf text_of = {}) {
  std::string list;
  for (const auto& item : items) append_part(&list, separator, std::invoke(text_of, item));
  return list;
}

// Returns `value` with `decimals` digits after the point.
inline std::string with_decimals(double value, int decimals) {
  char text[400];  // a double has at most 309 digits before the point
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

// Returns `value` with four significant digits.
inline std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

}  // namespace logjam::platform
