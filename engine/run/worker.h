// One worker: a thread that executes the transactions of its client, and acknowledges them when the
// log says that they are durable.
//
// Protocol. Only a worker's own thread touches its members, except WorkerStats: relaxed counters
// and histograms with one writer. The main thread stores RunControl::phase (release), and each
// worker loads it (acquire) once per transaction and at each acknowledgement. The phase publishes
// the window's begin and end, and no other data.
//
// If snapshots end at the durable prefix (--snapshot=durable), a commit is acknowledged when it is
// durable and the durable prefix contains its stamp. Otherwise a client that has the
// acknowledgement might begin a transaction that does not find the commit.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "engine/checkpoint/commit_point_request.h"
#include "engine/protocol.h"
#include "engine/run/arrivals.h"
#include "engine/run/commit_pipeline.h"
#include "engine/run/timeline.h"
#include "engine/storage/arena.h"
#include "engine/workload.h"
#include "platform/atomic.h"
#include "platform/random.h"
#include "platform/thread_annotations.h"
#include "platform/worker_class.h"

namespace logjam {

struct RunControl {
  RunControl(uint32_t workers, Phase first) : phase(first), epochs(workers) {}

  platform::atomic<Phase> phase;
  MeasuredWindow window;
  // The number of workers that have ended before the drain, and when the last of them ended. The
  // run ends early when all workers have ended.
  platform::atomic<uint32_t> exhausted{0};
  platform::atomic<uint64_t> exhausted_ns{0};
  platform::atomic<uint64_t> ages{0};
  std::optional<ReadStamps> read_stamps;  // unless the protocol has none
  Epochs epochs;
  CommitPointRequest question;  // the checkpointer's question

  bool in(Phase p) const { return phase.load(platform::memory_order_relaxed) == p; }
};

class alignas(platform::kCacheLine) Worker {
 public:
  // Make a Worker on its own thread, so that its memory lies near its core, apart from other
  // workers' cache lines. Only the worker uses `arena`. `timeline` may be null.
  Worker(uint32_t id, const RunOptions& options, Workload& workload, Database& database,
         const ProtocolInfo& protocol, LogScheme& scheme, RunControl& control, Arena& arena,
         WorkerTimeline* timeline) LJ_REQUIRES(platform::worker_role);

  // Works until the drain phase, and then until every transaction in flight is acknowledged.
  void run() LJ_REQUIRES(platform::worker_role);

  // Returns the counts of the measured phase. The warm-up has its own counts, because clearing
  // counts between the phases would cost each worker hundreds of cache misses.
  const WorkerStats& stats() const { return stats_[1]; }
  const WorkerStats& warm_up_stats() const { return stats_[0]; }
  const Breakdown& breakdown() const { return breakdown_; }
  bool is_long() const { return client_->is_long(); }
  // Returns nothing if the protocol keeps no old versions. Call it when the worker has ended.
  std::optional<uint64_t> old_version_bytes() const {
    if (!protocol_.keeps_old_versions) return std::nullopt;
    return reclaimer_.most_waiting_bytes();
  }

 private:
  // A pre-committed transaction that is not known to be durable. With --commit=async it is
  // acknowledged already, and only its locks or erased rows still wait.
  struct PendingCommit {
    CommitPoint point;
    uint64_t start = 0;   // the start; in an open loop the intended start
    uint64_t ended = 0;   // the pre-commit
    uint64_t number = 0;  // from Client::committing()
    uint64_t stamp = 0;   // the commit's, or of a later commit if it is read-only
    uint32_t type = 0;
    bool miss = false;
    bool read_only = false;                      // its commit changes no row
    std::unique_ptr<ProtocolTransaction> locks;  // keeps the locks until durable (--locks=write)
    uint32_t erased = 0;                         // erased rows, for the reclaimer
    uint32_t log_bytes = 0;
  };

  WorkerStats& counts() { return stats_[measured_ ? 1 : 0]; }
  void enter_phase(Phase phase);
  void answer_question() LJ_REQUIRES(platform::worker_role) {
    control_.question.answer_if_asked([this](const Dependencies& deps) {
      platform::worker_role.assume();
      return context_.log->commit_read_only(context_.id, deps);
    });
  }
  void begin_arrivals();
  uint64_t next_start() LJ_REQUIRES(platform::worker_role);
  bool wait_until(uint64_t time) LJ_REQUIRES(platform::worker_role);
  void count_waiting_arrivals();
  void record_latency(const PendingCommit& txn, uint64_t latency) {
    (txn.read_only ? counts().reader_commit : counts().writer_commit).record(latency);
  }
  bool counts_for_latency(const PendingCommit& txn) const;
  void count_late(const PendingCommit& txn);
  void one_transaction(uint64_t start) LJ_REQUIRES(platform::worker_role);
  void try_until_it_ends(uint64_t start) LJ_REQUIRES(platform::worker_role);
  [[noreturn, gnu::cold]] void refuse_type(uint32_t type) const;
  [[noreturn, gnu::cold]] void refuse_exists() const;
  bool execute(uint64_t begun, PendingCommit* txn) LJ_REQUIRES(platform::worker_role);
  void work_on() const;
  void count_committed(uint64_t begun, PendingCommit* txn);
  // Returns whether the commit does not wait for the worker's earlier commits.
  bool overtakes(const PendingCommit& txn) const {
    return txn.read_only && protocol_.keeps_old_versions &&
           options_.snapshot != SnapshotRule::kAcknowledged;
  }
  void extend_durable_prefix() LJ_REQUIRES(platform::worker_role);
  void wait_for_durable_prefix() LJ_REQUIRES(platform::worker_role);
  void keep_locks(PendingCommit* txn);
  void end_or_queue(PendingCommit& txn) LJ_REQUIRES(platform::worker_role);
  void back_off(uint32_t attempt) LJ_REQUIRES(platform::worker_role);
  void acknowledge_durable() LJ_REQUIRES(platform::worker_role) {
    if (!pipeline_.empty() || (clock_ != nullptr && !beyond_prefix_.empty())) acknowledge_some();
  }
  void acknowledge_some() LJ_REQUIRES(platform::worker_role);
  void settle(PendingCommit& txn, uint64_t now) LJ_REQUIRES(platform::worker_role);
  void acknowledge(const PendingCommit& txn, uint64_t now);
  void release(PendingCommit& txn) LJ_REQUIRES(platform::worker_role);
  void note_oldest();

  const RunOptions& options_;
  const Workload& workload_;
  WaitSide& scheme_;
  RunControl& control_;
  WorkerTimeline* const timeline_;
  const ProtocolInfo& protocol_;
  const bool commands_;       // the log holds commands
  CommitClock* const clock_;  // null unless snapshots end at the durable prefix
  Reclaimer reclaimer_;
  Breakdown breakdown_;
  std::array<WorkerStats, 2> stats_;  // before the measured phase, and in it
  WorkerContext context_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<ProtocolTransaction> txn_;
  std::vector<std::unique_ptr<ProtocolTransaction>> spare_;
  CommitPipeline<WaitSide, PendingCommit> pipeline_;
  // --snapshot=durable: durable commits that are perhaps beyond the durable prefix.
  std::list<PendingCommit> beyond_prefix_;
  std::optional<Arrivals> arrivals_;  // empty only during construction
  uint64_t think_until_ = 0;          // in ticks
  Phase phase_ = Phase::kWarmup;
  bool measured_ = false;  // the measured phase has begun
  uint64_t begun_ = 0;
  platform::SplitMix64 random_;
  platform::PeriodicYield yield_;
};

}  // namespace logjam
