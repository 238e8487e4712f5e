// Copies to and from memory another thread may be changing.
//
// A row is read optimistically: copied while its writer may be storing into it, and thrown away if
// the version word moved. C++ calls that a race unless every access is atomic; x86 does not tear
// what matters here (the version decides, not the bytes). So the normal build uses memcpy behind
// compiler barriers, and the ThreadSanitizer build copies word by word with relaxed atomics, which
// states the intent to the tool.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace logjam::platform {

// Into a log buffer, from memory only this thread writes.
inline void copy(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }

#if defined(__SANITIZE_THREAD__)
// Both sides 8-byte aligned and padded to a multiple of 8 bytes.
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
