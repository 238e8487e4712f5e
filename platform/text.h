// Texts of lists and of numbers, for sentences, rows and files.
#pragma once

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include "platform/assert.h"

namespace logjam::platform {

inline void append_part(std::string* list, std::string_view separator, std::string_view part) {
  if (!list->empty()) *list += separator;
  *list += part;
}

template <class Items, class TextOf = std::identity>
std::string join(const Items& items, std::string_view separator, TextOf text_of = {}) {
  std::string list;
  for (const auto& item : items) append_part(&list, separator, std::invoke(text_of, item));
  return list;
}

// Returns the text with codes in place of control characters, which a terminal would obey.
inline std::string without_control_characters(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    char hex[8];
    std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned char>(c));
    shown +=
        std::iscntrl(static_cast<unsigned char>(c)) != 0 ? std::string(hex) : std::string(1, c);
  }
  return shown;
}

inline std::string with_decimals(double value, int decimals) {
  char text[400];  // a double has at most 309 digits before the point
  LJ_ASSERT(0 <= decimals && decimals < 80);
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

// Returns `value` with four significant digits.
inline std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

// Returns the fewest digits that are read as exactly `value`: 0.2, not 0.20000000000000001. The
// text has an exponent only if `value` is very large or very small.
inline std::string shortest(double value) {
  constexpr double kLeast = 1e-5, kMost = 1e15;
  const double size = std::abs(value);
  const bool plain = value == 0 || (size >= kLeast && size < kMost);
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value,
                                 plain ? std::chars_format::fixed : std::chars_format::general);
  return {text, end.ptr};
}

}  // namespace logjam::platform
