// What the transactions of one worker wait for, if that is all logs up to where each was reserved
// at some moment, its *tails*: entries in the order of those moments, so their tails only grow, and
// an entry that is met has met all before it.
//
// Protocol. The worker pushes; anyone asks. The entries are under latch_; `met_` is the number of
// the last one that is met, `bound_` what came with it, both only grow (release), so that whoever
// asks for an entry that was met takes no latch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "platform/atomic.h"
#include "platform/spin.h"

namespace logjam {

class TailQueue {
 public:
  explicit TailQueue(uint32_t logs) : logs_(logs), entries_(kMost), tails_(kMost * logs) {}

  // Returns the entry's number, not 0. `bound` is what bound() may say when it is met.
  uint64_t push(std::span<const uint64_t> tails, uint64_t bound) {
    latch_.lock();
    if (count_ == kMost) --count_;  // a later entry says more; it is only true later
    const uint64_t place = (first_ + count_++) % kMost;
    entries_[place] = {++last_, bound};
    std::ranges::copy(tails, &tails_[place * logs_]);
    latch_.unlock();
    return last_;
  }

  // `durable(log)` says how far that log is.
  template <class Durable>
  bool met(uint64_t number, const Durable& durable) {
    if (number <= met_.load(platform::memory_order_acquire)) return true;
    latch_.lock();
    for (; count_ > 0 && front_is_met(durable); --count_) {
      bound_.store(entries_[first_].bound, platform::memory_order_release);
      met_.store(entries_[first_].number, platform::memory_order_release);
      first_ = (first_ + 1) % kMost;
    }
    latch_.unlock();
    return number <= met_.load(platform::memory_order_relaxed);
  }

  // The tails of an entry that is not met yet.
  void tails_of(uint64_t number, std::span<uint64_t> tails) {
    latch_.lock();
    for (uint64_t i = 0; i < count_; ++i) {
      const uint64_t place = (first_ + i) % kMost;
      if (entries_[place].number < number) continue;
      std::copy_n(&tails_[place * logs_], logs_, tails.begin());
      break;
    }
    latch_.unlock();
  }

  uint64_t bound() const { return bound_.load(platform::memory_order_acquire); }

 private:
  static constexpr uint64_t kMost = 4096;
  struct Entry {
    uint64_t number, bound;
  };

  template <class Durable>
  bool front_is_met(const Durable& durable) const {
    for (uint32_t log = 0; log < logs_; ++log) {
      if (durable(log) < tails_[first_ * logs_ + log]) return false;
    }
    return true;
  }

  const uint32_t logs_;
  platform::atomic<uint64_t> met_{0}, bound_{0};
  platform::SpinLock latch_;
  uint64_t last_ = 0;  // number pushed
  uint64_t first_ = 0, count_ = 0;
  std::vector<Entry> entries_;
  std::vector<uint64_t> tails_;  // of each place, one after the other
};

}  // namespace logjam
