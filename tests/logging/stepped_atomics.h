// Atomics with which a test interleaves two threads on one thread, in all ways that one step of the
// second thread can fall into the first. A class that takes platform::Atomics as a template
// parameter takes SteppedAtomics in such a test.
//
// As on x86, the first thread's stores wait in a store buffer: other threads see them late, and in
// their order, but the first thread sees them at once. A fence, a read-modify-write and a seq_cst
// store empty the buffer. Nothing else is reordered, so a test sees no error of a class that is
// right on x86 and wrong on a machine with weaker orders.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

namespace logjam {

class SteppedAtomics {
 public:
  using Step = std::function<void()>;

  // Runs `first`, and all of `second` at one moment of it: before one of its accesses to an atomic,
  // before one of its fences, or at its end. At that moment some of the oldest stores in the buffer
  // have become visible. Repeats this for every moment and every number of stores, each time
  // between begin() and check(). Returns how often.
  static int interleave(const Step& begin, const Step& first, const Step& second,
                        const Step& check) {
    for (int runs = 0;; ++runs) {
      begin();
      second_ = second;
      choices_before_ = runs;
      first_runs_ = true;
      first();
      moment();
      drain(late_.size());
      first_runs_ = false;
      const bool no_such_moment = second_ != nullptr;
      second_ = nullptr;
      if (no_such_moment) return runs;
      check();
    }
  }

  template <class T>
  class atomic {
   public:
    atomic(T value) : value_(value) {}  // NOLINT: converts as std::atomic does
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    T load(std::memory_order = std::memory_order_seq_cst) const {
      moment();
      return first_runs_ && late_stores_ > 0 ? newest_ : value_;
    }
    void store(T value, std::memory_order order = std::memory_order_seq_cst) {
      if (order == std::memory_order_seq_cst) {
        exchange(value);
        return;
      }
      moment();
      if (!first_runs_) {
        value_ = value;
        return;
      }
      newest_ = value;
      ++late_stores_;
      late_.emplace_back([this, value] {
        value_ = value;
        --late_stores_;
      });
    }
    T exchange(T value, std::memory_order = std::memory_order_seq_cst) {
      full_fence();
      return std::exchange(value_, value);
    }
    T fetch_add(T value, std::memory_order = std::memory_order_seq_cst) {
      full_fence();
      return std::exchange(value_, static_cast<T>(value_ + value));
    }
    bool compare_exchange_strong(T& expected, T value,
                                 std::memory_order = std::memory_order_seq_cst) {
      full_fence();
      if (value_ != expected) {
        expected = value_;
        return false;
      }
      value_ = value;
      return true;
    }

   private:
    T value_;              // as other threads see it
    T newest_{};           // the first thread's newest store, if it is in the buffer
    int late_stores_ = 0;  // in the buffer
  };

  static void full_fence() {
    moment();
    if (first_runs_) drain(late_.size());
  }

 private:
  static void moment() {
    if (!first_runs_ || second_ == nullptr) return;
    for (size_t visible = 0; visible <= late_.size(); ++visible) {
      if (choices_before_-- > 0) continue;
      drain(visible);
      first_runs_ = false;
      std::exchange(second_, nullptr)();
      first_runs_ = true;
      return;
    }
  }
  static void drain(size_t stores) {
    for (; stores > 0; --stores) {
      late_.front()();
      late_.pop_front();
    }
  }

  static inline bool first_runs_ = false;
  static inline Step second_ = nullptr;   // null: it has run
  static inline int choices_before_ = 0;  // how many moments and numbers are left before it runs
  static inline std::deque<Step> late_;   // the store buffer
};

}  // namespace logjam
