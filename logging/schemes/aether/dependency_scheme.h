// The common part of schemes in which a commit waits for a position in each log. A commit point is
// an entry of a worker's dependency queue, or a position in one stream.
#pragma once

#include "logging/schemes/common/multi_stream_scheme.h"

namespace logjam {

// The dependency queue of one worker. An entry holds the *tails* of one moment: the positions up to
// which the logs were reserved. The entry is met when every log is durable up to its tail. The
// tails grow from entry to entry: when an entry is met, so are all entries before it.
//
// Protocol. The worker pushes; any thread may call the other functions. `met_` is the number of the
// last entry that is met, and `bound_` is that entry's bound. Both only grow, and are stored with
// release.
class DependencyQueue {
 public:
  explicit DependencyQueue(uint32_t logs) : logs_(logs), entries_(kMost), tails_(kMost * logs) {}

  // Adds an entry, and returns its number. When the entry is met, bound() is at least `bound`.
  uint64_t push(std::span<const uint64_t> tails, uint64_t bound) {
    LJ_ASSERT(tails.size() == logs_);
    const platform::lock_guard<platform::SpinLock> hold(latch_);
    if (count_ == kMost) --count_;  // the new entry, which is met later, replaces the last one
    LJ_ASSERT_IN_TESTS(count_ == 0 || std::ranges::equal(tails_at((first_ + count_ - 1) % kMost),
                                                         tails, std::ranges::less_equal{}));
    const uint64_t index = (first_ + count_++) % kMost;
    entries_[index] = {++last_, bound};
    std::ranges::copy(tails, tails_at(index).begin());
    return last_;
  }

  // Returns whether entry `number` is met. `durable(log)` returns a log's durable position.
  template <class Durable>
  bool met(uint64_t number, const Durable& durable) {
    if (number <= met_.load(platform::memory_order_acquire)) return true;
    const platform::lock_guard<platform::SpinLock> hold(latch_);
    LJ_ASSERT(number <= last_);
    for (; count_ > 0 && front_is_met(durable); --count_) {
      bound_.store(entries_[first_].bound, platform::memory_order_release);
      met_.store(entries_[first_].number, platform::memory_order_release);
      first_ = (first_ + 1) % kMost;
    }
    return number <= met_.load(platform::memory_order_relaxed);
  }

  // Copies the tails of entry `number` to `tails`, if the entry is not met yet. If the queue was
  // full, and another entry replaced this entry, copies the tails of that other entry.
  void tails_of(uint64_t number, std::span<uint64_t> tails) {
    const platform::lock_guard<platform::SpinLock> hold(latch_);
    for (uint64_t i = 0; i < count_; ++i) {
      const uint64_t index = (first_ + i) % kMost;
      if (entries_[index].number < number) continue;
      std::ranges::copy(tails_at(index), tails.begin());
      break;
    }
  }

  uint64_t bound() const { return bound_.load(platform::memory_order_acquire); }

 private:
  static constexpr uint64_t kMost = 4096;
  struct Entry {
    uint64_t number, bound;
  };

  template <class Durable>
  bool front_is_met(const Durable& durable) LJ_REQUIRES(latch_) {
    for (uint32_t log = 0; log < logs_; ++log) {
      if (durable(log) < tails_at(first_)[log]) return false;
    }
    return true;
  }
  std::span<uint64_t> tails_at(uint64_t index) LJ_REQUIRES(latch_) {
    return {&tails_[index * logs_], logs_};
  }

  const uint32_t logs_;
  platform::atomic<uint64_t> met_{0}, bound_{0};
  platform::SpinLock latch_;
  uint64_t last_ LJ_GUARDED_BY(latch_) = 0;  // the number of the entry pushed last
  uint64_t first_ LJ_GUARDED_BY(latch_) = 0, count_ LJ_GUARDED_BY(latch_) = 0;
  std::vector<Entry> entries_ LJ_GUARDED_BY(latch_);
  std::vector<uint64_t> tails_ LJ_GUARDED_BY(latch_);  // `logs_` for each entry
};

class DependencyScheme : public MultiStreamScheme {
 public:
  bool is_durable(const CommitPoint& point) const override {
    const auto durable = [&](uint32_t s) { return stream(s).durable(); };
    switch (point.scope) {
      case CommitPoint::Scope::kStream:
        return point.sequence <= durable(point.index);
      case CommitPoint::Scope::kDependencies:
        return queues_[point.index]->met(point.sequence, durable);
      default:
        return true;
    }
  }

  void wait_durable(uint32_t worker, const CommitPoint& point) override {
    if (point.scope != CommitPoint::Scope::kDependencies) {
      return MultiStreamScheme::wait_durable(worker, point);
    }
    std::vector<uint64_t> goal(streams());
    while (!is_durable(point)) {
      queues_[point.index]->tails_of(point.sequence, goal);
      wait_for_each(worker, [&](uint32_t s) { return CommitPoint::in_stream(s, goal[s]); });
    }
  }

 protected:
  explicit DependencyScheme(const LogConfig& config, Writers writers = Writers::kDealt)
      : MultiStreamScheme(config, Flush::kByPolicy, writers) {
    for (uint32_t worker = 0; worker < config.workers; ++worker) {
      queues_.push_back(std::make_unique<DependencyQueue>(streams()));
    }
  }

  DependencyQueue& queue(uint32_t worker) { return *queues_[worker]; }

 private:
  std::vector<std::unique_ptr<DependencyQueue>> queues_;
};

}  // namespace logjam
