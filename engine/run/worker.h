// One worker: draws transactions, executes them, and acknowledges them when the log says so.
//
// Protocol. A worker's members are touched by its own thread only, but for WorkerStats (relaxed
// counters and histograms with one writer; the progress line reads them). RunControl::phase is
// written by the main thread and read once a transaction; nothing is published through it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "engine/run/run.h"
#include "engine/storage/arena.h"
#include "platform/atomic.h"

namespace logjam {

enum class Phase : uint32_t { kWarmup, kMeasure, kDrain };

struct RunControl {
  explicit RunControl(uint32_t workers) : epochs(workers) {}

  platform::atomic<Phase> phase{Phase::kWarmup};
  // Workers that can do no more: their client says so, or they did RunOptions::transactions. The
  // run ends early when all are.
  platform::atomic<uint32_t> exhausted{0};
  platform::atomic<uint64_t> ages{0};
  Epochs epochs;

  bool in(Phase p) const { return phase.load(platform::memory_order_relaxed) == p; }
};

// A counter with one writer and any number of readers.
class Counter {
 public:
  void add(uint64_t n) { set(value() + n); }
  void set(uint64_t value) { value_.store(value, platform::memory_order_relaxed); }
  uint64_t value() const { return value_.load(platform::memory_order_relaxed); }

 private:
  platform::atomic<uint64_t> value_{0};
};

struct TypeCounters {
  Counter transactions, misses, rollbacks;
};

struct WorkerStats {
  Counter transactions, misses, rollbacks, log_bytes, log_records;
  std::array<Counter, static_cast<size_t>(AbortReason::kCount)> aborts;
  std::vector<TypeCounters> by_type;
  Histogram execution, commit;  // ticks

  void reset();
};

class alignas(platform::kCacheLine) Worker {
 public:
  Worker(uint32_t id, const RunOptions& options, Workload& workload, Database& database,
         const ProtocolInfo& protocol, LogScheme& scheme, RunControl& control);

  // The thread's body: works until the drain phase, then settles everything in flight.
  void run();

  const WorkerStats& stats() const { return stats_; }
  const Breakdown& breakdown() const { return breakdown_; }

 private:
  // A pre-committed transaction whose point is not known to be durable yet.
  struct InFlight {
    Point point;
    uint64_t start = 0;
    uint64_t number = 0;  // the client's, for its history
    uint32_t type = 0;
    bool miss = false;
    bool acknowledged = false;  // --commit=async: only its locks or what it erased still wait
    std::unique_ptr<ProtocolTransaction> locks;  // --elr=false
    uint32_t erased = 0;                         // rows, for the reclaimer
  };

  void enter_phase(Phase phase);
  uint64_t wait_for_arrival();
  void one_transaction(uint64_t start);
  bool execute(InFlight* txn);
  void pre_committed(InFlight txn);
  void back_off(uint32_t attempt);
  size_t in_flight() const;
  // The point to wait for when there must be fewer in flight: the longest queue's head.
  Point next_point() const;
  void settle();
  void acknowledge(const InFlight& txn);
  void release(InFlight& txn);
  uint64_t random();

  const RunOptions& options_;
  LogScheme& scheme_;
  RunControl& control_;
  const ProtocolInfo& protocol_;
  const bool commands_;  // the log wants them
  Arena arena_;
  Reclaimer reclaimer_;
  Breakdown breakdown_;
  WorkerStats stats_;
  WorkerContext context_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<ProtocolTransaction> txn_;
  std::vector<std::unique_ptr<ProtocolTransaction>> spare_;
  std::array<std::deque<InFlight>, Point::kQueues> queues_;  // by Point::queue
  Phase phase_ = Phase::kWarmup;
  uint64_t begun_ = 0;
  uint64_t measure_start_ = 0;
  uint64_t next_arrival_ = 0;
  uint64_t random_;
};

}  // namespace logjam
