// The workers that sleep until a commit is durable.
//
// Protocol. Worker w alone stores the point of waiters_[w] and its `waits`. A worker stores the
// flag `waits`, fences and loads the watermark; a thread that advances a watermark stores it,
// fences and loads the flags (wake_durable()). So one of the two always sees the other's store, and
// no wake-up is lost. `parked_` counts the workers whose flag is set, also before the fence: most
// often no worker is parked, and a thread that wakes workers loads this one word. If a worker is
// changing its point, another thread may read a point that is half old, half new. But then the
// worker loads the watermark after its fence, when the other thread has stored it: the worker needs
// no wake-up. This is no platform::EventCount, because the thread that wakes workers chooses which.
#pragma once

#include <cstdint>
#include <vector>

#include "logging/commit_point.h"
#include "platform/atomic.h"
#include "platform/park.h"

namespace logjam {

class Durability {
 public:
  // Returns whether `point` is durable. Monotone: once true, true for ever. Any thread may call it.
  virtual bool is_durable(const CommitPoint& point) const = 0;

 protected:
  ~Durability() = default;
};

class DurabilityWaiters {
 public:
  // The waiters are workers 0 to `workers` - 1. `durability` outlives this object.
  DurabilityWaiters(uint32_t workers, const Durability& durability)
      : durability_(durability), waiters_(workers) {}

  bool is_durable(const CommitPoint& point) const { return durability_.is_durable(point); }

  // Sleeps until the worker is woken, `point` is durable, or `timeout_ns` has passed; may return
  // early. With `lead` the worker would lead (FlushLead), and does not sleep if `lead` is kFree
  // after the fence. The thread of `worker` calls it.
  static constexpr uint32_t kFree = 0;
  void park(uint32_t worker, const CommitPoint& point, uint64_t timeout_ns,
            const platform::atomic<uint32_t>* lead = nullptr);

  // Unparks the workers whose points are durable. Call it after advancing a watermark.
  void wake_durable();
  // Unparks one worker that waits for a point in `stream` that is not durable, and that would lead.
  // Returns false if there is none. A worker that parks later finds the lead free. Any thread may
  // call it, after it freed the lead of `stream`.
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
