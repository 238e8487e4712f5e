// What a run does in each short interval of its time: stalls, checkpoints and the warm-up show.
//
// Protocol. Each worker has a WorkerTimeline, to which it alone writes, with relaxed stores; the
// sampler reads it. Nothing in it is ever reset, so the difference of two samples is what happened
// between them. A worker without a timeline tests one pointer for each transaction. The exceptions
// are `running` and `queued`, which say since when the worker's oldest unacknowledged transaction
// waits: the worker stores `queued` before it clears `running` (release), and the sampler loads
// `running` first (acquire), so it does not miss a transaction that goes from one to the other.
// The main thread changes the phase, and takes a sample when it does, so no interval is of two
// phases. Between these the sampler thread takes them. `mutex_` guards what both use.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/run/run.h"
#include "engine/stats/histogram.h"
#include "logging/log_scheme.h"
#include "platform/atomic.h"
#include "platform/counter.h"
#include "platform/mutex.h"
#include "platform/park.h"
#include "platform/thread.h"

namespace logjam {

struct alignas(platform::kCacheLine) WorkerTimeline {
  platform::Counter aborts;
  platform::Counter log_bytes;           // of pre-committed transactions
  platform::Counter acknowledged_bytes;  // of these, those of acknowledged ones
  // When the transaction in execution started, and the oldest that waits for the log; ticks, or 0.
  platform::atomic<uint64_t> running{0}, queued{0};
  Histogram commit;  // ticks; its count is that of acknowledged transactions
};

class Timeline {
 public:
  // The main thread makes it before the workers, and ends it after them. It calls `sink` with each
  // sample, on its own thread or on the caller's of enter() and end(), never twice at a time.
  Timeline(const RunOptions& options, const LogScheme& scheme, Phase first);
  ~Timeline() { end(); }

  WorkerTimeline* of(uint32_t worker) { return workers_[worker].get(); }

  // The run begins: the first interval begins now, and the sampler thread starts.
  void begin();
  // The phase that has lasted until now ends, and with it an interval.
  void enter(Phase phase);
  // The last interval ends, and the sampler thread.
  void end();

 private:
  // What has been counted up to some moment.
  struct Totals {
    uint64_t ns = 0;
    uint64_t aborts = 0, log_bytes = 0, acknowledged_bytes = 0, durable_bytes = 0;
    uint64_t oldest_ticks = ~uint64_t{0};  // when the oldest unacknowledged transaction started
    HistogramSum commit;
  };

  Totals totals() const;
  void sample();
  void sample_until_end();

  const LogScheme& scheme_;
  const std::function<void(const TimelineSample&)> sink_;
  const uint64_t interval_ns_;
  const uint64_t warmup_ns_;
  std::vector<std::unique_ptr<WorkerTimeline>> workers_;

  platform::mutex mutex_;
  Phase phase_;
  uint64_t measure_start_ns_ = 0;  // during the warm-up, when it is to begin
  Totals last_;

  platform::atomic<bool> ending_{false};
  platform::Parker parker_;  // the sampler thread's
  platform::thread sampler_;
};

}  // namespace logjam
