// Translates a durable position of one stream into a sequence number. A scheme records pairs (end,
// sequence). A pair says: when the stream is durable up to `end`, all its records with numbers up
// to `sequence`, present or future, are durable. `sequence` is then Poplar's DSN.
//
// Protocol. Both numbers grow from pair to pair. A pair that is recorded after a larger pair is
// dropped, because the larger pair includes it. `next_` is the first pair's end. A thread that asks
// before the stream is durable up to `next_` (most threads do) takes no latch. `sequence_` is
// stored before `next_` (release), so a thread that loads a `next_` beyond its durable position
// finds the position's sequence number. A thread that has stored or loaded (acquire) the durable
// watermark sees every pair that was recorded before the write up to this watermark began. `end_`
// is stored before `sequence_` (release), so a thread that has loaded `sequence_` (acquire) finds
// the end of that number's pair, or a later end.
#pragma once

#include <vector>

#include "platform/spin.h"

namespace logjam {

class DurableSequence {
 public:
  // Adds a pair, before the stream can write beyond the last pair's end. Any thread may call it.
  void record(uint64_t end, uint64_t sequence) {
    const platform::lock_guard<platform::SpinLock> hold(latch_);
    const uint64_t last =
        count_ == 0 ? durable_sequence() : pairs_[(first_ + count_ - 1) % kMost].sequence;
    if (sequence <= last) return;
    LJ_ASSERT(count_ == 0 || end > pairs_[(first_ + count_ - 1) % kMost].end);
    if (count_ == kMost) --count_;  // the new pair, which is reached later, replaces the last one
    pairs_[(first_ + count_++) % kMost] = {end, sequence};
    next_.store(pairs_[first_].end, platform::memory_order_release);
  }

  // Returns the sequence number for a stream that is durable up to `durable`: the number of the
  // last pair whose end is at most `durable`. Any thread may call it.
  uint64_t at(uint64_t durable) {
    platform::SpinWait wait;
    while (durable >= next_.load(platform::memory_order_acquire)) {
      // A thread that finds the latch taken waits until the holder has removed the pairs. If
      // hundreds of workers took the latch in turn, each would pay for a cache-line transfer.
      if (latch_.try_lock()) {
        remove_reached(durable);
        latch_.unlock();
        break;
      }
      wait.once();
    }
    return durable_sequence();
  }

  // Returns the end of the pair that at() found, or of a later reached pair. Called after at().
  uint64_t end() const { return end_.load(platform::memory_order_relaxed); }

 private:
  // A slow Poplar stream may need a pair for each 64 KiB segment in a buffer of 64 MiB.
  static constexpr uint32_t kMost = 1024;
  static constexpr uint64_t kNone = ~uint64_t{0};
  struct Pair {
    uint64_t end, sequence;
  };

  void remove_reached(uint64_t durable) LJ_REQUIRES(latch_) {
    uint64_t sequence = durable_sequence();
    for (; count_ > 0 && pairs_[first_].end <= durable; --count_) {
      sequence = pairs_[first_].sequence;
      end_.store(pairs_[first_].end, platform::memory_order_relaxed);
      first_ = (first_ + 1) % kMost;
    }
    sequence_.store(sequence, platform::memory_order_release);
    next_.store(count_ == 0 ? kNone : pairs_[first_].end, platform::memory_order_release);
  }

  uint64_t durable_sequence() const { return sequence_.load(platform::memory_order_acquire); }

  alignas(platform::kCacheLine) platform::atomic<uint64_t> next_{kNone};
  platform::atomic<uint64_t> sequence_{0}, end_{0};
  alignas(platform::kCacheLine) platform::SpinLock latch_;
  uint32_t first_ LJ_GUARDED_BY(latch_) = 0, count_ LJ_GUARDED_BY(latch_) = 0;
  std::vector<Pair> pairs_ LJ_GUARDED_BY(latch_) = std::vector<Pair>(kMost);
};

}  // namespace logjam
