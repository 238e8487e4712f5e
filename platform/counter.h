// A counter with one writer and any number of readers: no read-modify-write, and no order with
// other memory.
#pragma once

#include <cstdint>

#include "platform/atomic.h"

namespace logjam::platform {

class Counter {
 public:
  // The one writer. Writers that a lock lets in one at a time count as one.
  void add(uint64_t n = 1) { set(value() + n); }
  void set(uint64_t value) { value_.store(value, memory_order_relaxed); }
  // Any thread.
  uint64_t value() const { return value_.load(memory_order_relaxed); }

 private:
  atomic<uint64_t> value_{0};
};

}  // namespace logjam::platform
