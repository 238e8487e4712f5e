// Counts of a run for each short interval of its time. They show stalls, checkpoints and warm-up.
//
// Protocol. Each worker alone writes its WorkerTimeline, with relaxed stores, and the sampler reads
// it. The counts are never reset: the difference of two samples is the count of an interval.
// `running` and `queued` say since when the worker's oldest unacknowledged transaction waits. The
// worker stores `queued` before it clears `running` (release), and the sampler loads `running`
// (acquire) before `queued`. So the sampler does not miss a transaction that moves from `running`
// to `queued`. In an open loop the worker stores `rate_` once, before its first store of
// `next_arrival` (release), and the sampler loads `next_arrival` (acquire) before `rate_`. The main
// thread changes the phase, and takes a sample at each change, so an interval belongs to one phase.
// The sampler thread takes all other samples.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/run/arrivals.h"
#include "engine/run/run.h"
#include "engine/stats/histogram.h"
#include "logging/log_scheme.h"
#include "platform/assert.h"
#include "platform/atomic.h"
#include "platform/counter.h"
#include "platform/mutex.h"
#include "platform/park.h"
#include "platform/thread.h"
#include "platform/thread_annotations.h"

namespace logjam {

struct alignas(platform::kCacheLine) WorkerTimeline {
  platform::Counter aborts;
  platform::Counter log_bytes;           // of pre-committed transactions
  platform::Counter acknowledged_bytes;  // of acknowledged transactions
  // Start times in ticks (0: none) of the running and of the oldest queued transaction.
  platform::atomic<uint64_t> running{0}, queued{0};
  platform::atomic<uint64_t> next_arrival{0};  // whose transaction has not begun; 0: closed loop
  Histogram commit;  // latencies of the acknowledged transactions, in ticks

  void begin_arrivals(const ArrivalRate& of_worker, uint64_t first) {
    rate_ = &of_worker;
    next_arrival.store(first, platform::memory_order_release);
  }
  // Returns how many arrivals before `now` have not begun, as if all distances were the mean.
  double backlog(uint64_t now) const {
    const uint64_t next = next_arrival.load(platform::memory_order_acquire);
    return next == 0 || next > now ? 0 : 1 + rate_->between(next, now);
  }

 private:
  const ArrivalRate* rate_ = nullptr;
};

class Timeline {
 public:
  // Make the object before the workers, and end it after them. The timeline calls
  // options.on_sample, one call at a time, on its own thread or on the thread that calls enter() or
  // end(). One thread calls begin(), enter() and end().
  Timeline(const RunOptions& options, const CheckpointSide& scheme, Phase first);
  ~Timeline() { end(); }

  WorkerTimeline* of(uint32_t worker) {
    LJ_ASSERT(worker < workers_.size());
    return workers_[worker].get();
  }

  void begin();
  void enter(Phase phase);
  void end();

 private:
  struct Totals {
    uint64_t ns = 0;
    uint64_t aborts = 0, log_bytes = 0, acknowledged_bytes = 0, durable_bytes = 0;
    uint64_t oldest_ticks = ~uint64_t{0};  // when the oldest unacknowledged transaction started
    double backlog = 0;
    HistogramSum commit;
  };

  Totals totals() const;
  void sample() LJ_REQUIRES(mutex_);
  void sample_until_end();

  const CheckpointSide& scheme_;
  const std::function<void(const TimelineSample&)> sink_;
  const uint64_t interval_ns_;
  const uint64_t warmup_ns_;
  std::vector<std::unique_ptr<WorkerTimeline>> workers_;

  platform::mutex mutex_;
  Phase phase_ LJ_GUARDED_BY(mutex_);
  // In the warm-up: the planned start of the measured phase.
  uint64_t measure_start_ns_ LJ_GUARDED_BY(mutex_) = 0;
  Totals last_ LJ_GUARDED_BY(mutex_);

  platform::atomic<bool> ending_{false};
  platform::Parker parker_;  // the sampler thread sleeps here
  platform::thread sampler_;
};

}  // namespace logjam
