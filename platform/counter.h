// A counter with one writer and any number of readers. It orders no other memory.
#pragma once

#include <cstdint>

#include "platform/atomic.h"

namespace logjam::platform {

class Counter {
 public:
  // Adds to the counter. Several threads may call this function only under one lock.
  void add(uint64_t n = 1) { set(value() + n); }
  void set(uint64_t value) { value_.store(value, memory_order_relaxed); }
  uint64_t value() const { return value_.load(memory_order_relaxed); }

 private:
  atomic<uint64_t> value_{0};
};

}  // namespace logjam::platform
