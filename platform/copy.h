// Copies of memory that no other thread changes during the copy (otherwise: racy_copy.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace logjam::platform {

inline void copy(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }

// Copies a row. Most rows are short, so no library function is called: two copies of n bytes, one
// from each end, copy a row of n to 2 n bytes.
inline void copy_row(std::byte* to, const std::byte* from, size_t bytes) {
  const auto both_ends = [&]<size_t kPiece>(std::integral_constant<size_t, kPiece>) {
    std::memcpy(to, from, kPiece);
    std::memcpy(to + bytes - kPiece, from + bytes - kPiece, kPiece);
  };
  constexpr size_t kPiece = 64, kLongest = 2048;
  if (bytes >= kPiece && bytes <= kLongest) {
    const size_t last = bytes - kPiece;
    for (size_t at = 0; at < last; at += kPiece) std::memcpy(to + at, from + at, kPiece);
    std::memcpy(to + last, from + last, kPiece);
  } else if (bytes > kLongest || bytes < 8) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 32) {
    both_ends(std::integral_constant<size_t, 32>());
  } else if (bytes >= 16) {
    both_ends(std::integral_constant<size_t, 16>());
  } else {
    both_ends(std::integral_constant<size_t, 8>());
  }
}

}  // namespace logjam::platform
