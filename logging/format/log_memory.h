// The memory into which a log is read, and a count of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "platform/atomic.h"

namespace logjam {

using LogMemory = std::shared_ptr<std::vector<std::byte>>;

// Counts the bytes that were allocated through it and are not freed yet.
//
// Protocol. Any thread may call any function. No thread concludes from the counters what other
// memory holds, so all accesses are relaxed.
class LogMemoryMeter {
 public:
  // Allocates `bytes` zeros. The meter outlives them.
  LogMemory allocate(uint64_t bytes) {
    const auto counted = std::make_shared<Counted>(*this, bytes);
    return {counted, &counted->memory};
  }
  // Returns the most bytes that there were at the same time.
  uint64_t most() const { return most_.load(platform::memory_order_relaxed); }

 private:
  struct Counted {
    Counted(LogMemoryMeter& meter, uint64_t bytes) : meter(meter), bytes(bytes), memory(bytes) {
      const uint64_t now = meter.now_.fetch_add(bytes, platform::memory_order_relaxed) + bytes;
      platform::atomic_max(meter.most_, now, platform::memory_order_relaxed);
    }
    ~Counted() { meter.now_.fetch_sub(bytes, platform::memory_order_relaxed); }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

    LogMemoryMeter& meter;
    const uint64_t bytes;
    std::vector<std::byte> memory;
  };

  platform::atomic<uint64_t> now_{0}, most_{0};
};

// Allocates `bytes` zeros, which `meter` counts, unless it is null.
inline LogMemory allocate_log_memory(LogMemoryMeter* meter, uint64_t bytes) {
  return meter == nullptr ? std::make_shared<std::vector<std::byte>>(bytes)
                          : meter->allocate(bytes);
}

}  // namespace logjam
