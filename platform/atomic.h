// Atomics, fences and cache lines: the only way in which logging/ and cc/ touch shared memory. The
// simulated machine (sim/) compiles logging/ and cc/ against its own headers of platform/.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace logjam::platform {

template <class T>
using atomic = std::atomic<T>;
template <class T>
using atomic_ref = std::atomic_ref<T>;

using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

// Orders every earlier access of the calling thread before every later access of the same thread.
// x86 needs it for one order only: a store before a later load.
#if defined(__SANITIZE_THREAD__)
// ThreadSanitizer does not model stand-alone fences. It does model a read-modify-write.
inline std::atomic<uint32_t> full_fence_word{0};
inline void full_fence() { full_fence_word.fetch_add(1, std::memory_order_seq_cst); }
#else
inline void full_fence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
#endif

// Raises `maximum` to `value` if `maximum` is smaller, and returns whether it was smaller. A thread
// that loads the new value (acquire) sees what this thread did before the call. If `value` is not
// larger, the call is only a load: seq_cst if `order` is seq_cst, otherwise relaxed.
template <class T>
inline bool atomic_max(std::atomic<T>& maximum, T value,
                       std::memory_order order = std::memory_order_acq_rel) {
  T known = maximum.load(order == std::memory_order_seq_cst ? order : std::memory_order_relaxed);
  while (known < value) {
    if (maximum.compare_exchange_weak(known, value, order, std::memory_order_relaxed)) return true;
  }
  return false;
}

// Words that are this far apart never share a cache line. Arm's processors have lines of 64 bytes
// (Neoverse) or 128 (Apple); Fujitsu's A64FX alone has 256, and is slower here.
#if defined(__aarch64__)
inline constexpr std::size_t kCacheLine = 128;
#else
inline constexpr std::size_t kCacheLine = 64;
#endif
// The bytes that share a cache line on every processor: what one fetch is sure to bring. Layouts of
// memory and of files use this size, so they do not depend on the processor.
inline constexpr std::size_t kShortestLine = 64;

// Holds a value alone in its cache line: writes to the value do not slow down reads of other data.
template <class T>
struct alignas(kCacheLine) Padded {
  T value{};
  T& operator*() { return value; }
  const T& operator*() const { return value; }
  T* operator->() { return &value; }
  const T* operator->() const { return &value; }
};

}  // namespace logjam::platform
