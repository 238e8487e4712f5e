// The commits of one worker that are not known to be durable yet. Each commit waits in the queue of
// its commit point. The commits of a queue become durable in the queue's order.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <utility>

#include "logging/log_scheme.h"
#include "platform/assert.h"
#include "platform/thread_annotations.h"

namespace logjam {

// `Log` has the functions is_durable() and wait_durable() of WaitSide. `Commit` has a `point`, the
// `start` of its transaction, and a `stamp` that is not larger than those of later commits.
template <class Log, class Commit>
class CommitPipeline {
 public:
  CommitPipeline(Log& log, uint32_t worker, size_t depth)
      : log_(log), worker_(worker), depth_(depth) {}

  bool empty() const { return size_ == 0; }
  bool too_full() const { return size_ > depth_; }

  void push(Commit commit) {
    LJ_ASSERT_IN_TESTS(commit.point.queue < CommitPoint::kQueues);
    ++size_;
    auto& queue = queues_[commit.point.queue];
    queue.push_back(std::move(commit));
  }
  // Returns the commit point to wait for.
  const CommitPoint& next() const {
    LJ_ASSERT(!empty());
    return std::ranges::max_element(queues_, {}, &std::deque<Commit>::size)->front().point;
  }
  void wait() LJ_REQUIRES(platform::worker_role) { log_.wait_durable(worker_, next()); }

  // Removes each durable commit after calling `acknowledge(commit)`. Returns whether there was one.
  template <class Acknowledge>
  bool acknowledge_durable(const Acknowledge& acknowledge) {
    const size_t before = size_;
    for (auto& queue : queues_) {
      while (!queue.empty() && log_.is_durable(queue.front().point)) {
        acknowledge(queue.front());
        queue.pop_front();
        --size_;
      }
    }
    return size_ != before;
  }
  // Returns the earliest start of a commit in flight, or 0 if there is none.
  uint64_t oldest_start() const {
    uint64_t oldest = 0;
    for (const auto& queue : queues_) {
      if (queue.empty()) continue;
      if (oldest == 0 || queue.front().start < oldest) oldest = queue.front().start;
    }
    return oldest;
  }
  // Returns the smallest stamp of a commit in flight. Call it only if there is one.
  uint64_t oldest_stamp() const {
    LJ_ASSERT_IN_TESTS(!empty());
    uint64_t oldest = std::numeric_limits<uint64_t>::max();
    for (const auto& queue : queues_) {
      if (!queue.empty()) oldest = std::min(oldest, queue.front().stamp);
    }
    return oldest;
  }

 private:
  Log& log_;
  const uint32_t worker_;
  const size_t depth_;
  size_t size_ = 0;
  std::array<std::deque<Commit>, CommitPoint::kQueues> queues_;
};

}  // namespace logjam
