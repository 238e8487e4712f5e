// The workers that sleep until a commit is durable.
//
// Protocol. Worker w alone stores the point of waiters_[w] and its `waits`. A thread that
// advances a watermark calls wake_durable(), which unparks the workers whose point became durable.
// On both sides full_fence() orders a store before a load: the worker stores the flag and loads the
// watermark, the other thread stores the watermark and loads the flag. So one of the two always
// sees the other's store, and no wake-up is lost. If a worker is changing its point, another thread
// may read a point that is half old, half new. In that case the worker loads the watermark, behind
// its fence, after the other thread has stored it: the worker needs no wake-up.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "logging/commit_point.h"
#include "platform/atomic.h"
#include "platform/park.h"

namespace logjam {

class DurabilityWaiters {
 public:
  // `is_durable` may be called by any thread, and is monotone: once true, true for ever.
  DurabilityWaiters(uint32_t workers, std::function<bool(const CommitPoint&)> is_durable)
      : is_durable_(std::move(is_durable)), waiters_(workers) {}

  // Any thread.
  bool is_durable(const CommitPoint& point) const { return is_durable_(point); }

  // Called by worker `worker` only. Blocks it until it is woken, `point` is durable, or
  // `timeout_ns` has passed; may return early. With `lead` the worker would lead (FlushLead), and
  // does not sleep if `lead` is kFree behind the fence.
  static constexpr uint32_t kFree = 0;
  void park(uint32_t worker, const CommitPoint& point, uint64_t timeout_ns,
            const platform::atomic<uint32_t>* lead = nullptr);

  // Any thread, after it advanced a watermark.
  void wake_durable();
  // Any thread, after it freed the lead of `stream`. Unparks one worker that waits for that stream,
  // would lead, and whose point is not durable yet. Returns false if it sees no such worker: a
  // worker that parks later finds the lead free.
  bool wake_one_to_lead(uint32_t stream);

 private:
  enum Waits : uint32_t { kAwake, kFollows, kWouldLead };

  struct alignas(platform::kCacheLine) Waiter {
    platform::atomic<uint32_t> waits{kAwake};
    platform::atomic<uint64_t> sequence{0};
    platform::atomic<uint64_t> where{0};  // the point's index and scope
    platform::Parker parker;

    void store(const CommitPoint& point);
    CommitPoint load() const;
  };

  const std::function<bool(const CommitPoint&)> is_durable_;
  std::vector<Waiter> waiters_;
};

}  // namespace logjam
