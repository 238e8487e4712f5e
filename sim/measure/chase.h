// A ring of cache lines in random order, for one thread at a time. Each line has the address of the
// next line, so each load waits for the load before it, and no prefetcher can guess the order.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/measured_loops.h"
#include "platform/memory.h"
#include "sim/measure/timing.h"

namespace logjam::platform {

struct alignas(kShortestLine) RingLine {
  RingLine* next;
  atomic<uint64_t> word;  // a thread that makes the line dirty stores here
};

class Ring {
 public:
  // Makes a ring of `lines` lines, one in each `stride` bytes, and touches the memory first.
  Ring(size_t lines, size_t stride) : bytes_(lines * stride), lines_(lines), stride_(stride) {
    LJ_ASSERT(lines >= kStarts && stride >= kShortestLine && stride % kShortestLine == 0);
    memory_ = static_cast<std::byte*>(map_huge(bytes_));
    std::vector<uint32_t> order(lines);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937(1));
    for (size_t i = 0; i < lines; ++i) line(order[i]).next = &line(order[(i + 1) % lines]);
    for (size_t i = 0; i < kStarts; ++i) starts_[i] = &line(order[i * lines / kStarts]);
  }
  ~Ring() { unmap_huge(memory_, bytes_); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  static constexpr size_t kStarts = 4;

  size_t size() const { return lines_; }
  // Returns lines that divide the ring into equal parts.
  const std::array<const RingLine*, kStarts>& starts() const { return starts_; }
  RingLine& line(size_t place) const {
    return *reinterpret_cast<RingLine*>(memory_ + place * stride_);
  }

  void evict() const {
    for (size_t i = 0; i < lines_; ++i) evict_line(&line(i));
    full_fence();
  }

  // Follows the whole ring once. Returns the nanoseconds per line of the ring.
  double chase_ns() const {
    const RingLine* at = starts_[0];
    return ns_of_a_step(lines_, [&at](size_t lines) {
      for (size_t i = 0; i < lines; ++i) at = at->next;
      opaque(at);
    });
  }

 private:
  size_t bytes_, lines_, stride_;
  std::byte* memory_;
  std::array<const RingLine*, kStarts> starts_;
};

}  // namespace logjam::platform
