// Copies to and from memory that another thread may be changing.
//
// Optimistic readers copy a row while its writer may be storing into it, and discard the copy if
// the version word has changed. C++ calls that a data race unless every access is atomic. On x86
// and Arm a torn copy does no harm, so the normal build uses memcpy and fences. The ThreadSanitizer
// build copies word by word with relaxed atomics, which tells the tool that the race is intended.
// The simulated machine has its own version (sim/include).
//
// Protocol (Boehm, "Can Seqlocks Get Along with Programming Language Memory Models?", MSPC 2012). A
// reader loads the version (acquire), copies, and loads the version again (relaxed). The acquire
// fence after the copy keeps the copy before the second load. A writer locks the version, calls
// order_racy_stores(), stores, and stores the new version (release). The release fence keeps the
// stores after the lock. So a reader that has copied a byte of a writer sees the writer's lock, or
// a later version. On x86 both fences only bind the compiler; on Arm they are dmb ishld and dmb
// ish.
//
// A reader that finds the version unchanged, or has a lock, calls racy_load_is_whole(). The
// explorer then checks that the program's memory orders put the writer's stores before the copy.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "platform/assert.h"

namespace logjam::platform {

// Orders the lock of the version word before the racy_store()s that follow.
inline void order_racy_stores() { std::atomic_thread_fence(std::memory_order_release); }

#if defined(__SANITIZE_THREAD__)
inline bool is_word(const void* at) { return reinterpret_cast<uintptr_t>(at) % 8 == 0; }

// Copies `bytes` bytes. Source and destination are padded to a multiple of 8 bytes.
inline void racy_load(void* to, const void* from, size_t bytes) {
  LJ_ASSERT_IN_TESTS(is_word(to) && is_word(from));
  auto* out = static_cast<uint64_t*>(to);
  auto* in = static_cast<const uint64_t*>(from);
  for (size_t i = 0; i < (bytes + 7) / 8; ++i) out[i] = __atomic_load_n(in + i, __ATOMIC_RELAXED);
  std::atomic_thread_fence(std::memory_order_acquire);
}
inline void racy_store(void* to, const void* from, size_t bytes) {
  LJ_ASSERT_IN_TESTS(is_word(to) && is_word(from));
  auto* out = static_cast<uint64_t*>(to);
  auto* in = static_cast<const uint64_t*>(from);
  for (size_t i = 0; i < (bytes + 7) / 8; ++i) __atomic_store_n(out + i, in[i], __ATOMIC_RELAXED);
}
#else
inline void racy_load(void* to, const void* from, size_t bytes) {
  std::memcpy(to, from, bytes);
  std::atomic_thread_fence(std::memory_order_acquire);
}
inline void racy_store(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
#endif

inline void racy_load_is_whole(const void*, size_t) {}

}  // namespace logjam::platform
