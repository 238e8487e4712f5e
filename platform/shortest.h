// The shortest text of a number.
#pragma once

#include <charconv>
#include <cmath>
#include <string>

namespace logjam::platform {

// Returns the fewest digits that are read as exactly `value`: 0.2, not 0.20000000000000001. It has
// an exponent only if it is very large or very small.
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
