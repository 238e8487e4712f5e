// The run loop: load, warm up, measure, drain.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/checkpoint/checkpointer.h"
#include "engine/protocol.h"
#include "engine/run/worker_stats.h"
#include "engine/run_options.h"
#include "engine/workload.h"
#include "logging/log_scheme.h"
#include "platform/host.h"

namespace logjam {

struct RunResult : Measurements<uint64_t, HistogramSum> {
  double seconds = 0;  // of the measured phase; 0: the run ended in its warm-up
  bool interrupted = false;
  uint64_t transactions = 0, misses = 0, rollbacks = 0;  // the sums over all types
  // The transactions in the first half of the measured phase; none if the phase ended early.
  std::optional<uint64_t> first_half;
  platform::ProcessUse usage;
  uint64_t memory_start_bytes = 0;  // of the process, when the measured phase begins
  uint64_t memory_end_bytes = 0;
  bool out_of_memory = false;  // the run ended early because hardly any memory was left
  // The workers' time in each activity, in sampled ticks.
  std::array<uint64_t, static_cast<size_t>(Activity::kCount)> activity_ticks{};
  std::vector<uint64_t> durable_bytes;  // by stream: bytes made durable in the measured phase
  double drain_seconds = 0;
  Counters counters;  // the scheme's counters of the measured phase
  CheckpointStats checkpoints;

  uint64_t abort_count() const;
};

// Creates the tables and loads them in `threads` parts at the same time. The rows do not depend on
// the number of parts. `progress`: draw a bar on stderr.
void load(Workload& workload, Database& database, uint32_t threads, bool progress = false);

// Runs `options.threads` workers through warm-up, measurement and drain, and returns their
// measurements. Then every log reservation is published, and every committed transaction is
// acknowledged.
RunResult run(Workload& workload, Database& database, const ProtocolInfo& protocol,
              LogScheme& scheme, const RunOptions& options);

// Ends the warm-up or the measured phase of a run within some 20 ms. A signal handler may call it.
void request_stop();

}  // namespace logjam
