// The run loop: load, warm up, measure, drain.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/checkpoint/checkpointer.h"
#include "engine/protocol.h"
#include "engine/stats/histogram.h"
#include "engine/workload.h"
#include "logging/log_scheme.h"
#include "platform/process_use.h"

namespace logjam::platform {
class WorkerClass;
}

namespace logjam {

enum class CommitPolicy : uint8_t { kSync, kPipelined, kAsync };

enum class Phase : uint32_t { kWarmup, kMeasure, kDrain };

// What happened in one interval of a run (engine/run/timeline.h).
struct TimelineSample {
  Phase phase = Phase::kWarmup;
  // When the interval ended, counted from the beginning of the measured phase: less than 0 in the
  // warm-up. And how long it was.
  double time_seconds = 0, seconds = 0;
  uint64_t transactions = 0;  // acknowledged ones
  uint64_t aborts = 0;
  uint64_t log_bytes = 0;      // of the transactions that pre-committed
  uint64_t durable_bytes = 0;  // by which the streams' durable positions have grown
  // At its end: the log bytes of all transactions that are pre-committed and not acknowledged, and
  // the age of the oldest transaction that is not acknowledged.
  uint64_t lag_bytes = 0;
  double lag_ns = 0;
  HistogramSum commit;  // latencies of those that were acknowledged, in ticks
};

struct RunOptions {
  uint32_t threads = 1;
  double warmup_seconds = 0;
  double seconds = 1;
  CommitPolicy commit = CommitPolicy::kPipelined;
  bool early_lock_release = true;
  bool keep_read_locks = false;  // without early lock release
  LogRecords log_records = LogRecords::kTransaction;
  uint64_t seed = 1;
  uint64_t transactions = 0;    // each worker ends after this many; 0: time alone ends it. There is
                                // no warm-up then, or they would end in it
  double rate = 0;              // transactions per second that all workers offer; 0: closed loop
  uint32_t pipeline_depth = 1;  // unacknowledged transactions a worker may have in flight
  bool breakdown = true;
  bool pin = true;
  const platform::WorkerClass* worker_class = nullptr;  // null: that of the process
  bool progress = false;                                // one line per second on stderr
  const CheckpointOptions* checkpoints = nullptr;       // null: none are taken
  // If it is set, it is called every `sample_ms`, and when a phase ends; one call at a time.
  std::function<void(const TimelineSample&)> on_sample = nullptr;
  uint64_t sample_ms = 100;
};

// The part of a RunResult that belongs to one type of transaction.
struct TypeCounts {
  uint64_t transactions = 0;
  uint64_t misses = 0;
  uint64_t rollbacks = 0;
};

struct RunResult {
  double seconds = 0;  // of the measured phase; 0: the run ended in its warm-up
  bool interrupted = false;
  uint64_t transactions = 0;  // acknowledged in the measured phase: goodput
  uint64_t misses = 0;        // of these, how many met a miss that the workload expects
  uint64_t rollbacks = 0;     // undone because the workload asked; not part of `transactions`
  std::array<uint64_t, static_cast<size_t>(AbortReason::kCount)> aborts{};
  std::vector<TypeCounts> by_type;
  // Latencies in ticks, of the transactions that began in the measured phase.
  HistogramSum execution;  // from the first start to the pre-commit
  // From the first (open loop: intended) start to the acknowledgement. In an open loop it has every
  // arrival of the measured phase that did not roll back: one that is acknowledged after the end
  // with its whole latency, and one that never is with what it has waited until the end.
  HistogramSum commit;
  // Open loop only, else 0. Arrivals are those whose intended start is in the measured phase; the
  // backlog is what had arrived by its end, in it or before, and was neither acknowledged nor
  // rolled back.
  uint64_t arrivals = 0;
  uint64_t backlog = 0;
  uint64_t log_bytes = 0;
  uint64_t log_records = 0;
  double pipeline_full_pct = 0;  // of the workers' time: waits because a pipeline was full
  platform::ProcessUse usage;
  uint64_t memory_start_bytes = 0;  // of the process, when the measured phase begins
  uint64_t memory_end_bytes = 0;
  bool out_of_memory = false;  // the run ended early because hardly any memory was left
  std::array<double, static_cast<size_t>(Activity::kCount)> activity_share{};
  std::vector<uint64_t> durable_bytes;  // that became durable in the measured phase, by stream
  double drain_seconds = 0;
  Counters counters;  // the scheme's counters of the measured phase
  CheckpointStats checkpoints;

  uint64_t abort_count() const;
};

// Creates the tables and loads them in `threads` parts side by side; `workload` sees to it that the
// rows are the same for every number of parts. `progress`: a bar on stderr.
void load(Workload& workload, Database& database, uint32_t threads, bool progress = false);

// Runs `options.threads` workers through warm-up, measurement and drain, and returns what they
// measured. When it returns, every log reservation is published, and every transaction that
// committed is acknowledged.
RunResult run(Workload& workload, Database& database, const ProtocolInfo& protocol,
              LogScheme& scheme, const RunOptions& options);

// Ends the warm-up or the measured phase of a run within some 20 ms. A signal handler or any thread
// may call it.
void request_stop();

}  // namespace logjam
