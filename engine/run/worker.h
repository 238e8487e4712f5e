// One worker: a thread that draws transactions, executes them, and acknowledges them when the log
// says that they are durable.
//
// Protocol. Only a worker's own thread touches its members, except WorkerStats. Those are relaxed
// counters and histograms with one writer; the progress line reads them. The main thread writes
// RunControl::phase (release), and each worker reads it once a transaction, and once more with
// acquire when it is kDrain, to read RunControl::end_ticks. No other data is published through it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "engine/checkpoint/commit_point_request.h"
#include "engine/run/run.h"
#include "engine/run/timeline.h"
#include "engine/storage/arena.h"
#include "platform/atomic.h"
#include "platform/counter.h"
#include "platform/random.h"

namespace logjam {

struct RunControl {
  RunControl(uint32_t workers, Phase first) : phase(first), epochs(workers) {}

  platform::atomic<Phase> phase;
  // When the drain phase began. Set before `phase`, which the workers read with acquire.
  platform::atomic<uint64_t> end_ticks{0};
  // How many workers can do no more, because their client is exhausted or they have executed
  // RunOptions::transactions, and have acknowledged all that they did. The run ends early when all
  // workers are counted here; the last one says when.
  platform::atomic<uint32_t> exhausted{0};
  platform::atomic<uint64_t> exhausted_ns{0};
  platform::atomic<uint64_t> ages{0};
  Epochs epochs;
  CommitPointRequest question;  // a checkpoint's

  bool in(Phase p) const { return phase.load(platform::memory_order_relaxed) == p; }
};

using platform::Counter;

struct TypeCounters {
  Counter transactions, misses, rollbacks;
};

struct WorkerStats {
  Counter transactions, misses, rollbacks, arrivals, backlog, log_bytes, log_records;
  Counter pipeline_wait;  // ticks
  std::array<Counter, static_cast<size_t>(AbortReason::kCount)> aborts;
  std::vector<TypeCounters> by_type;
  Histogram execution, commit;  // in ticks, see RunResult

  void reset();
};

class alignas(platform::kCacheLine) Worker {
 public:
  // Called by the worker's thread, so that what it allocates lies near its core, and not on the
  // cache lines of other workers.
  Worker(uint32_t id, const RunOptions& options, Workload& workload, Database& database,
         const ProtocolInfo& protocol, LogScheme& scheme, RunControl& control,
         WorkerTimeline* timeline);  // null: the run has no time line

  // The body of the thread. It works until the drain phase, and then waits until every transaction
  // in flight is acknowledged. Afterwards stats() are those of the measured phase.
  void run();

  const WorkerStats& stats() const { return stats_; }
  const Breakdown& breakdown() const { return breakdown_; }

 private:
  // A pre-committed transaction whose commit point is not known to be durable yet.
  struct PendingCommit {
    CommitPoint point;
    uint64_t start = 0;   // in an open loop the intended one
    uint64_t begun = 0;   // its first attempt
    uint64_t number = 0;  // in the client's history
    uint32_t type = 0;
    bool miss = false;
    bool acknowledged = false;  // --commit=async: only its locks or erased rows still wait
    std::unique_ptr<ProtocolTransaction> locks;  // --locks=write
    uint32_t erased = 0;                         // how many rows it erased, for the reclaimer
    uint32_t log_bytes = 0;
  };

  void enter_phase(Phase phase);
  void answer_question() {
    control_.question.answer_if_asked(
        [this](const Dependencies& deps) { return scheme_.commit_read_only(context_.id, deps); });
  }
  void forget_counts();
  double mean_gap_ticks() const;
  uint64_t next_gap_ticks();
  uint64_t wait_for_arrival();
  void count_waiting_arrivals();
  void count_late(const PendingCommit& txn);
  void one_transaction(uint64_t start);
  void try_until_it_ends(uint64_t start);
  bool execute(PendingCommit* txn);
  void pre_committed(PendingCommit txn);
  void back_off(uint32_t attempt);
  size_t in_flight() const;
  // The commit point to wait for when fewer transactions must be in flight: the head of the longest
  // queue.
  CommitPoint next_commit_point() const;
  void acknowledge_durable();
  void acknowledge(const PendingCommit& txn);
  void note_oldest();
  void release(PendingCommit& txn);

  const RunOptions& options_;
  LogScheme& scheme_;
  RunControl& control_;
  WorkerTimeline* const timeline_;
  const ProtocolInfo& protocol_;
  const bool commands_;  // the log holds commands
  Arena arena_;
  Reclaimer reclaimer_;
  Breakdown breakdown_;
  WorkerStats stats_;
  WorkerContext context_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<ProtocolTransaction> txn_;
  std::vector<std::unique_ptr<ProtocolTransaction>> spare_;
  std::array<std::deque<PendingCommit>, CommitPoint::kQueues> queues_;  // by CommitPoint::queue
  Phase phase_ = Phase::kWarmup;
  bool measured_ = false;  // the worker was in the measured phase
  uint64_t begun_ = 0;
  uint64_t measure_start_ = 0;
  uint64_t next_arrival_ = 0;
  platform::SplitMix64 random_;
};

}  // namespace logjam
