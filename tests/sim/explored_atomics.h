// Atomics whose accesses are steps of the explorer. A class that takes platform::Atomics as a
// template parameter takes ExploredAtomics in a test that searches all schedules of its threads.
// Its objects lie on a page of the simulated memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "sim/charge.h"
#include "sim/kernel.h"

namespace logjam::sim {

struct ExploredAtomics {
  template <class T>
  class atomic {
   public:
    atomic(T value) : value_(value) {}  // NOLINT: converts as std::atomic does
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    T load(std::memory_order = std::memory_order_seq_cst) const {
      before_atomic_load(nullptr, &value_);
      return value_;
    }
    void store(T value, std::memory_order order = std::memory_order_seq_cst) {
      before_atomic_store(nullptr, &value_, sizeof value_, order == std::memory_order_seq_cst);
      value_ = value;
    }
    T exchange(T value, std::memory_order = std::memory_order_seq_cst) {
      return modify([value](T) { return value; });
    }
    T fetch_add(T value, std::memory_order = std::memory_order_seq_cst) {
      return modify([value](T old) { return static_cast<T>(old + value); });
    }
    T fetch_sub(T value, std::memory_order = std::memory_order_seq_cst) {
      return modify([value](T old) { return static_cast<T>(old - value); });
    }
    T fetch_or(T value, std::memory_order = std::memory_order_seq_cst) {
      return modify([value](T old) { return static_cast<T>(old | value); });
    }
    bool compare_exchange_strong(T& expected, T value,
                                 std::memory_order = std::memory_order_seq_cst,
                                 std::memory_order = std::memory_order_seq_cst) {
      before_read_modify_write(nullptr, &value_);
      if (value_ == expected) {
        value_ = value;
        return true;
      }
      expected = value_;
      return false;
    }

    // As platform/park.h's functions.
    friend void wait_on(const atomic& at, T seen, uint64_t) {
      kernel().before_wait();
      if (at.value_ == seen) kernel().wait(&at, 0);
    }
    friend void wake_all(const atomic& at) { kernel().wake(&at, ~uint32_t{0}); }

   private:
    template <class Change>
    T modify(const Change& change) {
      before_read_modify_write(nullptr, &value_);
      return std::exchange(value_, change(value_));
    }

    T value_;
  };
  static void full_fence() { before_fence(); }
};

// The same without fences: the bug of a protocol that forgot them.
struct FencelessAtomics : ExploredAtomics {
  static void full_fence() {}
};

}  // namespace logjam::sim
