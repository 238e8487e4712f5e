// What no log can beat: the same bytes copied into the same kind of ring, and nothing more, or an
// atomic addition for their place besides. Answers the calls of a LogScheme that the benchmark
// makes, without their being virtual.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "logging/log_scheme.h"
#include "platform/atomic.h"
#include "platform/memory.h"

namespace logjam::log_insert {

// kShared: places come from one fetch-and-add; otherwise each worker has a ring of its own.
template <bool kShared>
class FloorLog {
 public:
  FloorLog(uint32_t workers, uint64_t ring_bytes) : mask_(std::bit_ceil(ring_bytes) - 1) {
    for (uint32_t ring = 0; ring < (kShared ? 1 : workers); ++ring)
      rings_.push_back(std::make_unique<platform::MirroredMemory>(mask_ + 1));
    if (!kShared) next_.resize(workers);
  }

  Ticket reserve(uint32_t worker, const Dependencies&, uint32_t bytes) {
    uint64_t begin;
    if constexpr (kShared) {
      begin = shared_next_.fetch_add(bytes, platform::memory_order_relaxed);
    } else {
      begin = *next_[worker];
      *next_[worker] += bytes;
    }
    return {.sequence = begin + bytes,
            .position = begin,
            .hole = rings_[kShared ? 0 : worker]->data() + (begin & mask_),
            .bytes = bytes};
  }
  Point publish(uint32_t, const Ticket&, bool, bool) { return {}; }
  bool is_durable(const Point&) const { return true; }
  void wait_durable(uint32_t, const Point&) {}
  void tick(uint32_t) {}
  Counters counters() const { return {}; }

 private:
  const uint64_t mask_;
  std::vector<std::unique_ptr<platform::MirroredMemory>> rings_;
  std::vector<platform::Padded<uint64_t>> next_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> shared_next_{0};
};

}  // namespace logjam::log_insert
