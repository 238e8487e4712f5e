// Which sequence number a stream's durable byte stands for: pairs (end, sequence), "when the stream
// is durable up to `end`, all it has and will have of numbers up to `sequence` is" (Poplar's DSN).
//
// Protocol. The pairs are under latch_; both numbers grow. `next_` is the first pair's end, so that
// whoever asks before the stream got there (most do) takes no latch. Whoever stored the durable
// watermark, or has loaded it (acquire), sees every pair pushed before that write began.
#pragma once

#include <array>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/spin.h"

namespace logjam {

class SequenceMarks {
 public:
  // Before the stream may write beyond the previous pair's end.
  void push(uint64_t end, uint64_t sequence) {
    latch_.lock();
    if (count_ == kMost) --count_;  // a later pair says more; it is only true later
    pairs_[(first_ + count_++) % kMost] = {end, sequence};
    next_.store(pairs_[first_].end, platform::memory_order_release);
    latch_.unlock();
  }

  uint64_t sequence_at(uint64_t durable) {
    if (durable < next_.load(platform::memory_order_acquire)) return durable_sequence();
    latch_.lock();
    uint64_t sequence = durable_sequence();
    for (; count_ > 0 && pairs_[first_].end <= durable; --count_) {
      sequence = pairs_[first_].sequence;
      first_ = (first_ + 1) % kMost;
    }
    sequence_.store(sequence, platform::memory_order_release);
    next_.store(count_ == 0 ? kNone : pairs_[first_].end, platform::memory_order_release);
    latch_.unlock();
    return sequence;
  }

 private:
  static constexpr uint32_t kMost = 64;
  static constexpr uint64_t kNone = ~uint64_t{0};
  struct Pair {
    uint64_t end, sequence;
  };

  uint64_t durable_sequence() const { return sequence_.load(platform::memory_order_acquire); }

  platform::atomic<uint64_t> next_{kNone};
  platform::atomic<uint64_t> sequence_{0};
  platform::SpinLock latch_;
  uint32_t first_ = 0, count_ = 0;
  std::array<Pair, kMost> pairs_;
};

}  // namespace logjam
