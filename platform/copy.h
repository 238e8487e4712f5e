// Copies to and from memory that another thread may be changing.
//
// Optimistic readers copy a row while its writer may be storing into it, and discard the copy if
// the version word has changed. C++ calls that a data race unless every access is atomic. On x86 a
// torn copy does no harm, because the version word decides whether the copy is used. So the normal
// build uses memcpy between compiler barriers. The ThreadSanitizer build copies word by word with
// relaxed atomics, which tells the tool that the race is intended.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace logjam::platform {

// Copies `bytes` bytes into a log buffer. While it runs, only the calling thread may write the
// source.
inline void copy(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }

// Copies a row. Most rows are short, so it copies without a call: two copies of a fixed size, one
// from each end, cover every size between one of them and both.
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

#if defined(__SANITIZE_THREAD__)
// Copies `bytes` bytes. Both sides are 8-byte aligned and padded to a multiple of 8 bytes.
inline void racy_load(void* to, const void* from, size_t bytes) {
  auto* out = static_cast<uint64_t*>(to);
  auto* in = static_cast<const uint64_t*>(from);
  for (size_t i = 0; i < (bytes + 7) / 8; ++i) out[i] = __atomic_load_n(in + i, __ATOMIC_RELAXED);
}
inline void racy_store(void* to, const void* from, size_t bytes) {
  auto* out = static_cast<uint64_t*>(to);
  auto* in = static_cast<const uint64_t*>(from);
  for (size_t i = 0; i < (bytes + 7) / 8; ++i) __atomic_store_n(out + i, in[i], __ATOMIC_RELAXED);
}
#else
inline void racy_load(void* to, const void* from, size_t bytes) {
  std::memcpy(to, from, bytes);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}
inline void racy_store(void* to, const void* from, size_t bytes) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::memcpy(to, from, bytes);
}
#endif

}  // namespace logjam::platform
