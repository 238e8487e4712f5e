// The run loop: load, warm up, measure, drain.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/protocol.h"
#include "engine/stats/histogram.h"
#include "engine/stats/usage.h"
#include "engine/workload.h"
#include "logging/log_scheme.h"

namespace logjam {

enum class CommitPolicy : uint8_t { kSync, kPipelined, kAsync };

struct RunOptions {
  uint32_t threads = 1;
  double warmup_seconds = 0;
  double seconds = 1;
  CommitPolicy commit = CommitPolicy::kPipelined;
  bool early_lock_release = true;
  LogRecords log_records = LogRecords::kTransaction;
  uint64_t run = 0;  // of the log, seeds record checksums
  uint64_t seed = 1;
  uint64_t transactions = 0;    // each worker ends after so many; 0: time alone ends the run
  double rate = 0;              // transactions a second offered by all workers; 0: closed loop
  uint32_t pipeline_depth = 1;  // unacknowledged transactions a worker may have in flight
  bool breakdown = true;
  bool pin = true;
  bool progress = false;  // a line a second on stderr
};

// One type's share of a RunResult.
struct TypeCounts {
  uint64_t transactions = 0;
  uint64_t misses = 0;
  uint64_t rollbacks = 0;
};

struct RunResult {
  double seconds = 0;  // of the measured phase
  bool interrupted = false;
  uint64_t transactions = 0;  // acknowledged in the measured phase: goodput
  uint64_t misses = 0;        // of these, ended with a miss the workload expects
  uint64_t rollbacks = 0;  // undone because the workload wanted it; complete, not in transactions
  std::array<uint64_t, static_cast<size_t>(AbortReason::kCount)> aborts{};
  std::vector<TypeCounts> by_type;
  // In ticks. Only transactions begun in the measured phase are in them.
  HistogramSum execution;  // first start to pre-commit
  HistogramSum commit;     // first start (open loop: intended start) to acknowledgement
  uint64_t log_bytes = 0;
  uint64_t log_records = 0;
  Usage usage;
  uint64_t memory_start_bytes = 0;  // the process's, when the measured phase begins
  uint64_t memory_end_bytes = 0;
  bool out_of_memory = false;  // ended early, before the machine had none left
  std::array<double, static_cast<size_t>(Activity::kCount)> activity_share{};
  double drain_seconds = 0;
  Counters counters;  // the scheme's own, of the measured phase

  uint64_t abort_count() const;
};

// Creates the tables and loads them in parallel. `progress`: a bar on stderr.
void load(Workload& workload, Database& database, uint32_t threads, bool progress = false);

// Runs `options.threads` workers. All tickets are settled when it returns.
RunResult run(Workload& workload, Database& database, const ProtocolInfo& protocol,
              LogScheme& scheme, const RunOptions& options);

// Ends the measured phase of a run soon; may be called from a signal handler.
void request_stop();

}  // namespace logjam
