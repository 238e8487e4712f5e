// The workers that sleep until a commit is durable.
//
// Protocol. Only worker w stores the point and the flag `waits` of waiters_[w]. A worker sets its
// flag, fences and loads the watermark. A thread that advances a watermark stores the watermark,
// fences and loads the flags (wake_durable()). So one of the two sees the other's store, and no
// wake-up is lost. Before its fence, a worker also increments `parked_`, the number of set flags.
// If `parked_` is 0, as it mostly is, wake_durable() loads no flag. While a worker changes its
// point, another thread may read a half-changed point. But then the worker loads the watermark
// after that thread's store, and needs no wake-up. This is no platform::EventCount, because the
// waking thread chooses the workers.
#pragma once

#include <cstdint>
#include <vector>

#include "logging/commit_point.h"
#include "platform/atomic.h"
#include "platform/park.h"

namespace logjam {

class Durability {
 public:
  // Returns whether `point` is durable. Once true, the answer stays true. Any thread may call it.
  virtual bool is_durable(const CommitPoint& point) const = 0;

 protected:
  ~Durability() = default;
};

class DurabilityWaiters {
 public:
  // `durability` outlives this object.
  DurabilityWaiters(uint32_t workers, const Durability& durability)
      : durability_(durability), waiters_(workers) {}

  bool is_durable(const CommitPoint& point) const { return durability_.is_durable(point); }

  // Sleeps until the worker is woken, `point` is durable, or `timeout_ns` has passed; may return
  // early. If `lead` is not null, the worker is ready to lead (FlushLead), and does not sleep if
  // `lead` is kFree after the fence. The thread of `worker` calls it.
  static constexpr uint32_t kFree = 0;
  void park(uint32_t worker, const CommitPoint& point, uint64_t timeout_ns,
            const platform::atomic<uint32_t>* lead = nullptr);

  void wake_durable();
  // Unparks one worker that is ready to lead, and whose point in `stream` is not durable. Returns
  // false if there is no such worker: a worker that parks later sees the free lead, and leads. Any
  // thread that has freed the lead of `stream` may call it.
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

  const Durability& durability_;
  std::vector<Waiter> waiters_;
  alignas(platform::kCacheLine) platform::atomic<uint32_t> parked_{0};
};

}  // namespace logjam
