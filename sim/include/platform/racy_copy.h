// platform/racy_copy.h of the simulated machine. The watch for data races sees the bytes of a
// racy_load() only if racy_load_is_whole() follows. The functions have names like
// ThreadSanitizer's, because calls of such functions cost nothing (scripts/block_costs.py).
//
// The fences only bind the compiler: x86 needs no more. A fence that the watch knows would order
// the copy in place of the version's load or store, and hide that this load or store is too weak.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>

extern "C" {
void __tsan_ignore_thread_begin();
void __tsan_ignore_thread_end();
void __tsan_whole_range(const void* at, size_t bytes);
}

namespace logjam::platform {

// Returns `bytes`. The compiler cannot see the number, so it calls memcpy() instead of inlining a
// copy. The simulated machine charges and watches this call.
inline size_t any_number(size_t bytes) {
  asm("" : "+r"(bytes));
  return bytes;
}

inline void racy_load(void* to, const void* from, size_t bytes) {
  __tsan_ignore_thread_begin();
  std::memcpy(to, from, any_number(bytes));
  __tsan_ignore_thread_end();
  std::atomic_signal_fence(std::memory_order_seq_cst);
}
inline void order_racy_stores() { std::atomic_signal_fence(std::memory_order_seq_cst); }
inline void racy_store(void* to, const void* from, size_t bytes) {
  std::memcpy(to, from, any_number(bytes));
}
inline void racy_load_is_whole(const void* from, size_t bytes) { __tsan_whole_range(from, bytes); }

}  // namespace logjam::platform
