// Runs a workload: load, warm up, measure, drain.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/checkpoint/checkpointer.h"
#include "engine/protocol.h"
#include "engine/run_options.h"
#include "engine/stats/histogram.h"
#include "engine/workload.h"
#include "logging/log_scheme.h"
#include "platform/assert.h"
#include "platform/counter.h"
#include "platform/hardware_counters.h"
#include "platform/host.h"

namespace logjam {

// How the transactions of a type ended. `Number` is explained at Measurements.
template <class Number>
struct EndedTransactions {
  Number transactions{};  // acknowledged in the measured phase: goodput
  Number misses{};        // part of `transactions`: they met a miss that the workload expects
  Number rollbacks{};     // undone because the workload asked; not part of `transactions`

  template <class Other, class Visit>
  void visit(Other& other, const Visit& visit) {
    visit(transactions, other.transactions);
    visit(misses, other.misses);
    visit(rollbacks, other.rollbacks);
  }
};
using TypeCounts = EndedTransactions<uint64_t>;

// Measurements that workers make and a run adds up. Each field has a line in visit().
//
// In a worker, `Number` is Counter and `Latencies` is Histogram: one thread writes, and other
// threads may read. In a sum over all workers, the two are uint64_t and HistogramSum.
template <class Number, class Latencies>
struct Measurements {
  std::vector<EndedTransactions<Number>> by_type;
  std::array<Number, static_cast<size_t>(AbortReason::kCount)> aborts{};
  // Both are 0 in a closed loop. `arrivals` counts the intended starts in the measured phase.
  // `backlog` counts the transactions that had arrived, but not ended, when the phase ended.
  Number arrivals{}, backlog{};
  Number committed{};  // executed and pre-committed, acknowledged or not
  Number log_bytes{}, log_records{};
  Number pipeline_wait_ticks{};  // waits because a pipeline was full
  // The times of the `committed` transactions from the first start to the pre-commit, in ticks.
  Latencies execution;
  // The times from the first start (open loop: the intended start) to the acknowledgement, in
  // ticks: of transactions that committed and changed no row, and of all others. In a closed loop
  // the transactions of `by_type` count. In an open loop every arrival of the measured phase
  // counts, unless it rolled back. A transaction that is acknowledged after the phase counts with
  // its whole latency. A transaction that never commits counts with its wait until the worker gives
  // it up.
  Latencies reader_commit, writer_commit;

  template <class Other, class Visit>
  void visit(Other& other, const Visit& visit) {
    LJ_ASSERT(by_type.size() == other.by_type.size());
    for (size_t i = 0; i < by_type.size(); ++i) by_type[i].visit(other.by_type[i], visit);
    for (size_t i = 0; i < aborts.size(); ++i) visit(aborts[i], other.aborts[i]);
    visit(arrivals, other.arrivals);
    visit(backlog, other.backlog);
    visit(committed, other.committed);
    visit(log_bytes, other.log_bytes);
    visit(log_records, other.log_records);
    visit(pipeline_wait_ticks, other.pipeline_wait_ticks);
    visit(execution, other.execution);
    visit(reader_commit, other.reader_commit);
    visit(writer_commit, other.writer_commit);
  }
};

struct WorkerStats : Measurements<platform::Counter, Histogram> {
  uint64_t transactions() const {
    uint64_t all = 0;
    for (const auto& type : by_type) all += type.transactions.value();
    return all;
  }
  void add_commit_to(HistogramSum* sum) const {
    sum->add(reader_commit);
    sum->add(writer_commit);
  }
};

struct TransactionsOfLength {
  uint64_t transactions = 0;
  HistogramSum commit;  // of readers and writers
};

struct RunResult : Measurements<uint64_t, HistogramSum> {
  double warmup_seconds = 0;
  double seconds = 0;  // of the measured phase; 0: the run ended in its warm-up
  bool interrupted = false;
  uint64_t transactions = 0, misses = 0, rollbacks = 0;  // the sums over all types
  HistogramSum commit;                                   // of readers and writers
  // Acknowledged in the first half of the measured phase; none if the phase ended early.
  std::optional<uint64_t> first_half;
  platform::ProcessUse usage;
  platform::HardwareReading hardware;  // of RunOptions::hardware, in the measured phase
  uint64_t memory_start_bytes = 0;     // of the process, when the measured phase begins
  uint64_t memory_end_bytes = 0;
  // The most bytes of replaced old versions that waited at once for the ends of transactions, added
  // over the workers.
  std::optional<uint64_t> old_version_bytes;
  bool out_of_memory = false;  // the run ended early because hardly any memory was left
  // The workers' time in each activity, in sampled ticks.
  std::array<uint64_t, static_cast<size_t>(Activity::kCount)> activity_ticks{};
  std::vector<uint64_t> durable_bytes;  // by stream: bytes made durable in the measured phase
  double drain_seconds = 0;
  Counters counters;  // the scheme's counters of the measured phase
  CheckpointStats checkpoints;
  // If clients say is_long(): the transactions of these clients and of the others.
  std::optional<TransactionsOfLength> of_long, of_short;

  uint64_t abort_count() const;
};

// Creates the tables, and loads them on `threads` threads. With `progress`, shows a bar on stderr.
void load(Workload& workload, Database& database, uint32_t threads, bool progress = false);

// Runs the workers through warm-up, measurement and drain. When it returns, every log reservation
// is published, and every committed transaction is acknowledged.
RunResult run(Workload& workload, Database& database, const ProtocolInfo& protocol,
              LogScheme& scheme, const RunOptions& options);

// Ends the warm-up or the measured phase of a run within some 20 ms. A signal handler may call it.
void request_stop();

}  // namespace logjam
