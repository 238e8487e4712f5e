// The options of a run, which its workers and their transactions read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/stats/histogram.h"

namespace logjam::platform {
class HardwareCounters;
class WorkerClass;
}  // namespace logjam::platform

namespace logjam {

struct CheckpointOptions;

enum class CommitPolicy : uint8_t { kSync, kPipelined, kAsync };

enum class LogRecords : uint8_t { kTransaction, kOperation };

// Which commits a snapshot contains, and what a transaction waits for that has only read.
enum class SnapshotRule : uint8_t {
  kAcknowledged,  // all commits; it waits until the commits that it has read from are durable
  kDurable,       // commits up to the durable prefix (commit_clock.h); it waits for nothing
  kCommitted,     // all commits; it waits for nothing (UNSAFE)
};

enum class Phase : uint32_t { kWarmup, kMeasure, kDrain };

// One interval of a run (engine/run/timeline.h).
struct TimelineSample {
  Phase phase = Phase::kWarmup;
  // The end of the interval, from the start of the measured phase; negative in the warm-up.
  double time_seconds = 0;
  double seconds = 0;         // the length of the interval
  uint64_t transactions = 0;  // acknowledged transactions
  uint64_t aborts = 0;
  uint64_t log_bytes = 0;      // of the transactions that pre-committed
  uint64_t durable_bytes = 0;  // growth of the streams' durable positions
  // At the end of the interval: the log bytes of all transactions that are pre-committed and not
  // acknowledged, and the age of the oldest transaction that is not acknowledged.
  uint64_t lag_bytes = 0;
  double lag_ns = 0;
  uint64_t backlog = 0;  // at the end of the interval: arrivals that no worker has begun, estimated
  HistogramSum commit;   // latencies of the acknowledged transactions, in ticks
};

// A rate of --rate, from this time on. Time counts from the end of the warm-up.
struct RateStep {
  double from_seconds = 0;
  double per_second = 0;  // transactions, offered to all workers together
};

struct RunOptions {
  uint32_t threads = 1;
  double warmup_seconds = 0;
  // The warm-up goes on until its last `warmup_seconds` would have been a steady window
  // (engine/run/steadiness.h), at most for this time. 0: until `warmup_seconds` have passed.
  double most_warmup_seconds = 0;
  double seconds = 1;
  CommitPolicy commit = CommitPolicy::kPipelined;
  bool early_lock_release = true;
  bool keep_read_locks =
      false;  // without early lock release: also keep the locks of rows only read
  SnapshotRule snapshot = SnapshotRule::kAcknowledged;  // of protocols that keep old versions
  uint64_t work_ns = 0;  // extra work of each transaction before its first access
  LogRecords log_records = LogRecords::kTransaction;
  bool log_ranges = false;  // log only the changed bytes of a row
  uint64_t seed = 1;
  // Each worker ends after this many transactions; 0: only time ends the run. A run with this
  // option has no warm-up, because the workers might end in the warm-up.
  uint64_t transactions = 0;
  std::vector<RateStep> rates = {};  // of an open loop, in the order of time; empty: closed loop
  // The mean time that a worker waits before each transaction of a closed loop, at random.
  uint64_t think_ns = 0;
  uint32_t pipeline_depth = 1;  // unacknowledged transactions a worker may have in flight
  bool breakdown = true;
  bool pin = true;
  const platform::WorkerClass* worker_class = nullptr;   // null: the process's class
  const platform::HardwareCounters* hardware = nullptr;  // null: nothing is counted
  bool progress = false;                                 // one line per second on stderr
  const CheckpointOptions* checkpoints = nullptr;        // null: none are taken
  // Called by the main thread every 20 ms before the drain. May end the process. Null: never.
  std::function<void()> watch = nullptr;
  // Called every `sample_ms`, and when a phase ends; one call at a time. Null: never.
  std::function<void(const TimelineSample&)> on_sample = nullptr;
  uint64_t sample_ms = 100;

  // Returns the highest offered rate, or 0 in a closed loop.
  double most_rate() const {
    double most = 0;
    for (const RateStep& step : rates) most = std::max(most, step.per_second);
    return most;
  }
  // Returns the longest time of warm-up and measured phase together.
  double most_seconds() const { return std::max(warmup_seconds, most_warmup_seconds) + seconds; }
};

}  // namespace logjam
