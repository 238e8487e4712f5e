// The lower bound of the log-insert benchmark: the cost that no log can undercut. A FloorLog copies
// the same bytes into the same kind of ring as a log does. It does nothing else, or draws their
// position with one atomic fetch-and-add. It has the functions of LogScheme that the benchmark
// calls, but they are not virtual.
//
// Protocol. Only worker w touches next_[w] and ring w. With kShared, workers divide the one ring by
// fetch-and-add (relaxed, since no thread reads another's bytes). Positions wrap around without
// regard to other workers: the bytes are never read.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "logging/log_scheme.h"
#include "platform/atomic.h"
#include "platform/memory.h"
#include "platform/placement.h"

namespace logjam::log_insert {

// kShared: all workers share one ring, whose positions come from one fetch-and-add. Otherwise each
// worker has a ring of its own.
template <bool kShared>
class FloorLog {
 public:
  // `pinned`: worker w stays on core number w.
  FloorLog(uint32_t workers, uint64_t ring_bytes, bool pinned)
      : mask_(std::bit_ceil(ring_bytes) - 1) {
    for (uint32_t ring = 0; ring < (kShared ? 1 : workers); ++ring) {
      const int node = kShared || !pinned ? platform::kEveryNode
                                          : platform::node_of_core(static_cast<int>(ring));
      rings_.push_back(std::make_unique<platform::MirroredMemory>(mask_ + 1, node));
    }
    if (!kShared) next_.resize(workers);
  }

  LogReservation reserve(uint32_t worker, const Dependencies&, uint32_t bytes) {
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
  CommitPoint publish(uint32_t, const LogReservation&, RecordRole) { return {}; }
  bool is_durable(const CommitPoint&) const { return true; }
  void wait_durable(uint32_t, const CommitPoint&) {}
  void poll(uint32_t) {}
  Counters counters() const { return {}; }

 private:
  const uint64_t mask_;
  std::vector<std::unique_ptr<platform::MirroredMemory>> rings_;
  std::vector<platform::Padded<uint64_t>> next_;
  alignas(platform::kCacheLine) platform::atomic<uint64_t> shared_next_{0};
};

}  // namespace logjam::log_insert
