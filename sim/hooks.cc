// Instrumented code calls these functions at each access to memory, in place of each atomic
// operation, and at the beginning of each basic block (g++ -fsanitize=thread
// -fsanitize-coverage=trace-pc, without the library of ThreadSanitizer). GCC's sanitizer.def lists
// the names and the parameters of the functions.
#include <atomic>
#include <cstdint>

#include "sim/explore/coverage.h"
#include "sim/machine/block_costs.h"
#include "sim/machine/charge.h"

using logjam::sim::Access;
using logjam::sim::Explorer;

#define LOGJAM_SITE __builtin_return_address(0)

namespace {

// Reports an atomic operation to the watch for data races, if the schedule has one.
template <class Type>
void done(const void* site, const volatile Type* at, Explorer::Operation operation, int order) {
  if (logjam::sim::data_races == nullptr) return;
  Explorer::now_exploring()->done(site, const_cast<const Type*>(at), sizeof *at, operation, order);
}

// Reports a compare-and-exchange to the watch. A failed one counts as a load.
template <class Type>
void done_compare(const void* site, const volatile Type* at, bool equal, int order, int failed) {
  equal ? done(site, at, Explorer::Operation::kModify, order)
        : done(site, at, Explorer::Operation::kLoad, failed);
}

// Makes an atomic load that must wait for its turn or that has a price. This function is not
// inlined, so that the fast path of other loads saves no registers.
template <class Type>
[[gnu::noinline]] Type load(const void* site, const volatile Type* at, int order) {
  logjam::sim::before_atomic_load(site, const_cast<const Type*>(at));
  done(site, at, Explorer::Operation::kLoad, order);
  return *at;
}

}  // namespace

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
// Ignores data races of the running thread until __tsan_ignore_thread_end(). This function and the
// next two functions serve platform/racy_copy.h.
void __tsan_ignore_thread_begin() {
  if (auto* races = logjam::sim::data_races)
    races->ignore(logjam::sim::kernel().current().id, true);
}
void __tsan_ignore_thread_end() {
  if (auto* races = logjam::sim::data_races)
    races->ignore(logjam::sim::kernel().current().id, false);
}
void __tsan_whole_range(const void* at, size_t bytes) {
  if (logjam::sim::data_races == nullptr || logjam::sim::exploring == nullptr) return;
  logjam::sim::exploring->watch(LOGJAM_SITE, at, bytes, logjam::sim::DataRaces::Kind::kChecked);
}

void __sanitizer_cov_trace_pc() {
  if (logjam::sim::running != nullptr) {
    logjam::sim::instructions(logjam::sim::block_cost(LOGJAM_SITE));
  } else if (logjam::sim::covered_blocks != nullptr) {
    logjam::sim::cover(LOGJAM_SITE);
  }
}

#define LOGJAM_ACCESS(name, bytes)                               \
  void __tsan_##name##read##bytes(void* at) {                    \
    logjam::sim::access(LOGJAM_SITE, at, bytes, Access::kLoad);  \
  }                                                              \
  void __tsan_##name##write##bytes(void* at) {                   \
    logjam::sim::access(LOGJAM_SITE, at, bytes, Access::kStore); \
  }
LOGJAM_ACCESS(, 1)
LOGJAM_ACCESS(, 2)
LOGJAM_ACCESS(, 4)
LOGJAM_ACCESS(, 8)
LOGJAM_ACCESS(, 16)
LOGJAM_ACCESS(unaligned_, 2)
LOGJAM_ACCESS(unaligned_, 4)
LOGJAM_ACCESS(unaligned_, 8)
LOGJAM_ACCESS(unaligned_, 16)

void __tsan_read_range(void* at, uint64_t bytes) {
  if (bytes != 0) logjam::sim::access(LOGJAM_SITE, at, bytes, Access::kLoad);
}
void __tsan_write_range(void* at, uint64_t bytes) {
  if (bytes != 0) logjam::sim::access(LOGJAM_SITE, at, bytes, Access::kStore);
}
void __tsan_vptr_update(void** at, void*) {
  logjam::sim::access(LOGJAM_SITE, at, sizeof *at, Access::kStore);
}
void __tsan_vptr_read(void** at) {
  logjam::sim::access(LOGJAM_SITE, at, sizeof *at, Access::kLoad);
}

// The host has one thread, so the operation needs no memory order on the host.
#define LOGJAM_READ_MODIFY_WRITE(bits, Type, name, expression)                       \
  Type __tsan_atomic##bits##_##name(volatile Type* at, Type operand, int order) {    \
    logjam::sim::before_read_modify_write(LOGJAM_SITE, const_cast<const Type*>(at)); \
    done(LOGJAM_SITE, at, Explorer::Operation::kModify, order);                      \
    const Type old = *at;                                                            \
    *at = static_cast<Type>(expression);                                             \
    return old;                                                                      \
  }
#define LOGJAM_COMPARE_EXCHANGE(bits, Type, strength)                                         \
  int __tsan_atomic##bits##_compare_exchange_##strength(volatile Type* at, Type* expected,    \
                                                        Type wanted, int order, int failed) { \
    logjam::sim::before_read_modify_write(LOGJAM_SITE, const_cast<const Type*>(at));          \
    const bool equal = *at == *expected;                                                      \
    done_compare(LOGJAM_SITE, at, equal, order, failed);                                      \
    if (!equal) *expected = *at;                                                              \
    if (equal) *at = wanted;                                                                  \
    return static_cast<int>(equal);                                                           \
  }
#define LOGJAM_ATOMICS(bits, Type)                                                               \
  Type __tsan_atomic##bits##_load(const volatile Type* at, int order) {                          \
    if (logjam::sim::is_free_atomic_load(const_cast<const Type*>(at))) return *at;               \
    return load(LOGJAM_SITE, at, order);                                                         \
  }                                                                                              \
  void __tsan_atomic##bits##_store(volatile Type* at, Type value, int order) {                   \
    logjam::sim::before_atomic_store(LOGJAM_SITE, const_cast<const Type*>(at), sizeof *at,       \
                                     order == __ATOMIC_SEQ_CST);                                 \
    done(LOGJAM_SITE, at, Explorer::Operation::kStore, order);                                   \
    *at = value;                                                                                 \
  }                                                                                              \
  LOGJAM_READ_MODIFY_WRITE(bits, Type, exchange, operand)                                        \
  LOGJAM_READ_MODIFY_WRITE(bits, Type, fetch_add, old + operand)                                 \
  LOGJAM_READ_MODIFY_WRITE(bits, Type, fetch_sub, old - operand)                                 \
  LOGJAM_READ_MODIFY_WRITE(bits, Type, fetch_and, old& operand)                                  \
  LOGJAM_READ_MODIFY_WRITE(bits, Type, fetch_or, old | operand)                                  \
  LOGJAM_READ_MODIFY_WRITE(bits, Type, fetch_xor, old ^ operand)                                 \
  LOGJAM_READ_MODIFY_WRITE(bits, Type, fetch_nand, ~(old & operand))                             \
  LOGJAM_COMPARE_EXCHANGE(bits, Type, strong)                                                    \
  LOGJAM_COMPARE_EXCHANGE(bits, Type, weak)                                                      \
  Type __tsan_atomic##bits##_compare_exchange_val(volatile Type* at, Type expected, Type wanted, \
                                                  int order, int failed) {                       \
    logjam::sim::before_read_modify_write(LOGJAM_SITE, const_cast<const Type*>(at));             \
    const Type old = *at;                                                                        \
    done_compare(LOGJAM_SITE, at, old == expected, order, failed);                               \
    if (old == expected) *at = wanted;                                                           \
    return old;                                                                                  \
  }
__extension__ using Uint128 = unsigned __int128;
LOGJAM_ATOMICS(8, uint8_t)
LOGJAM_ATOMICS(16, uint16_t)
LOGJAM_ATOMICS(32, uint32_t)
LOGJAM_ATOMICS(64, uint64_t)
LOGJAM_ATOMICS(128, Uint128)

void __tsan_atomic_thread_fence(int order) {
  // On x86 all fences except the sequentially consistent fence are free.
  if (order == __ATOMIC_SEQ_CST) logjam::sim::before_fence();
  if (logjam::sim::data_races != nullptr) Explorer::now_exploring()->fence_done(order);
}
void __tsan_atomic_signal_fence(int) {}

}  // extern "C"
