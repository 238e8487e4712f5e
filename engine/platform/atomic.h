// Shared memory, as logging/ and cc/ may touch it.
//
// This folder is a seam: the same sources are to be built a second time against simulated atomics
// (another include directory), so nothing outside platform/ names std::atomic and friends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace logjam::platform {

template <class T>
using atomic = std::atomic<T>;

using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

// Orders every earlier store before every later load: the one ordering x86 does not give for free.
#if defined(__SANITIZE_THREAD__)
// ThreadSanitizer does not model stand-alone fences; a read-modify-write it does.
inline std::atomic<uint32_t> full_fence_word{0};
inline void full_fence() { full_fence_word.fetch_add(1, std::memory_order_seq_cst); }
#else
inline void full_fence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
#endif

inline constexpr std::size_t kCacheLine = 64;

// A value alone on its cache line, so that one thread's writes do not slow another's reads.
template <class T>
struct alignas(kCacheLine) Padded {
  T value{};
  T& operator*() { return value; }
  const T& operator*() const { return value; }
  T* operator->() { return &value; }
  const T* operator->() const { return &value; }
};

}  // namespace logjam::platform
