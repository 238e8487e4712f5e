// platform/racy_copy.h of the simulated machine. A racy load is no access for the watch of data
// races until it is whole. These calls have names like ThreadSanitizer's own, because such calls
// cost nothing on the simulated machine (scripts/block_costs.py).
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

// Returns `bytes`. A compiler that knows that they are few copies them itself, without a call that
// the simulated machine can charge and watch.
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
inline void racy_store(void* to, const void* from, size_t bytes) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::memcpy(to, from, any_number(bytes));
}
inline void racy_load_is_whole(const void* from, size_t bytes) { __tsan_whole_range(from, bytes); }

}  // namespace logjam::platform
