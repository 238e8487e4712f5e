#include "engine/run/run.h"

#include <glog/logging.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>

#include "engine/run/memory_guard.h"
#include "engine/run/progress.h"
#include "engine/run/timeline.h"
#include "engine/run/worker.h"
#include "platform/clock.h"
#include "platform/memory.h"
#include "platform/parallel.h"
#include "platform/process_use.h"
#include "platform/spin.h"
#include "platform/thread.h"
#include "platform/worker_class.h"

namespace logjam {
namespace {

// A signal handler writes it, so it must be lock-free. The main thread of a run reads it.
platform::atomic<bool> stop_requested{false};

// A run ends when less memory than this is available: workloads that insert grow for as long as
// they run. It is enough for the checks that follow the run.
constexpr uint64_t kMemoryToLeave = uint64_t{256} << 20;
constexpr uint64_t kNapNs = 20'000'000;

// Workers are made one after another, and start together. Protocol: a thread that sees `made_`
// (acquire) sees the workers that were made before; `started_` publishes nothing.
class StartGate {
 public:
  // Waits until `workers` workers are made.
  void await_made(uint32_t workers) const {
    for (platform::SpinWait wait; made_.load(platform::memory_order_acquire) != workers;) {
      wait.once();
    }
  }
  // Called by the worker's thread: its worker is made.
  void made_and_await_start() {
    made_.fetch_add(1, platform::memory_order_release);
    for (platform::SpinWait wait; !started_.load(platform::memory_order_relaxed);) wait.once();
  }
  // The main thread.
  void start() { started_.store(true, platform::memory_order_relaxed); }

 private:
  platform::atomic<uint32_t> made_{0};
  platform::atomic<bool> started_{false};
};

enum class Slept : uint8_t { kToTheEnd, kStopped, kOutOfMemory };

// Sleeps for a phase of `seconds`. The phase ends early on request_stop(), when no worker can do
// more, or when hardly any memory is left.
Slept sleep_through(double seconds, const RunControl& control, uint32_t workers,
                    Progress* progress) {
  const uint64_t end = platform::now_ns() + static_cast<uint64_t>(seconds * 1e9);
  MemoryGuard memory(kMemoryToLeave, platform::available_bytes);
  while (!stop_requested.load(platform::memory_order_relaxed) &&
         control.exhausted.load(platform::memory_order_acquire) < workers) {
    const uint64_t now = platform::now_ns();
    if (now >= end) return Slept::kToTheEnd;
    if (memory.hardly_any_left(now)) return Slept::kOutOfMemory;
    if (progress != nullptr) progress->print_if_due(now);
    platform::sleep_ns(std::min<uint64_t>(end - now, kNapNs));
  }
  return Slept::kStopped;
}

double seconds_between(uint64_t begin_ns, uint64_t end_ns) {
  return static_cast<double>(end_ns - begin_ns) * 1e-9;
}

void collect(const Workers& workers, RunResult* result) {
  std::array<uint64_t, static_cast<size_t>(Activity::kCount)> activity_ticks{};
  uint64_t pipeline_wait = 0;
  for (const auto& worker : workers) {
    const WorkerStats& stats = worker->stats();
    result->transactions += stats.transactions.value();
    result->misses += stats.misses.value();
    result->rollbacks += stats.rollbacks.value();
    result->arrivals += stats.arrivals.value();
    result->backlog += stats.backlog.value();
    result->log_bytes += stats.log_bytes.value();
    result->log_records += stats.log_records.value();
    pipeline_wait += stats.pipeline_wait.value();
    for (size_t i = 0; i < result->aborts.size(); ++i) {
      result->aborts[i] += stats.aborts[i].value();
    }
    result->by_type.resize(stats.by_type.size());
    for (size_t i = 0; i < stats.by_type.size(); ++i) {
      result->by_type[i].transactions += stats.by_type[i].transactions.value();
      result->by_type[i].misses += stats.by_type[i].misses.value();
      result->by_type[i].rollbacks += stats.by_type[i].rollbacks.value();
    }
    result->execution.add(stats.execution);
    result->commit.add(stats.commit);
    for (size_t i = 0; i < activity_ticks.size(); ++i) {
      activity_ticks[i] += worker->breakdown().sampled_ticks()[i];
    }
  }
  const double workers_ns = result->seconds * 1e9 * static_cast<double>(workers.size());
  if (workers_ns > 0) {
    result->pipeline_full_pct =
        std::min(100.0, 100 * platform::ticks_to_ns(pipeline_wait) / workers_ns);
  }
  const auto all = static_cast<double>(
      std::accumulate(activity_ticks.begin(), activity_ticks.end(), uint64_t{0}));
  for (size_t i = 0; i < activity_ticks.size() && all > 0; ++i) {
    result->activity_share[i] = static_cast<double>(activity_ticks[i]) / all;
  }
}

// Draws the loading bar until `loaded`. Memory shows progress for every workload: a load fills
// memory, and the workload has said how much.
void watch_loading(uint64_t expected_bytes, const std::vector<platform::Padded<Arena>>& arenas,
                   const platform::atomic<bool>& loaded) {
  LoadingBar bar(expected_bytes);
  while (!loaded.load(platform::memory_order_relaxed)) {
    uint64_t bytes = 0;
    for (const auto& arena : arenas) bytes += arena->allocated_bytes();
    bar.show(bytes);
    platform::sleep_ns(20'000'000);
  }
  bar.end();
}

}  // namespace

uint64_t RunResult::abort_count() const {
  return std::accumulate(aborts.begin(), aborts.end(), uint64_t{0});
}

void request_stop() { stop_requested.store(true, platform::memory_order_relaxed); }

void load(Workload& workload, Database& database, uint32_t threads, bool progress) {
  const uint64_t expected_bytes = workload.spec().expected_bytes;
  VLOG(1) << "load: " << threads << " threads, about " << (expected_bytes >> 20) << " MiB";
  const uint64_t begun = platform::now_ns();
  workload.create_tables(database);
  // Part `part` has its rows on the node where worker `part` of the run will be.
  const auto node_of = [](uint32_t part) { return platform::node_of_core(static_cast<int>(part)); };
  std::vector<platform::Padded<Arena>> arenas(threads);
  for (uint32_t part = 0; part < threads; ++part) arenas[part]->lie_on(node_of(part));
  // This thread loads too, so another one watches.
  platform::atomic<bool> loaded{false};
  platform::thread watcher;
  if (progress) {
    watcher = platform::thread([&] { watch_loading(expected_bytes, arenas, loaded); });
  }
  platform::parallel_for_parts_by_node(threads, node_of, [&](uint32_t part) {
    workload.load(database, part, threads, *arenas[part]);
  });
  loaded.store(true, platform::memory_order_relaxed);
  if (watcher.joinable()) watcher.join();
  VLOG(1) << "load ended after " << seconds_between(begun, platform::now_ns()) << " s";
}

RunResult run(Workload& workload, Database& database, const ProtocolInfo& protocol,
              LogScheme& scheme, const RunOptions& options) {
  platform::ns_per_tick();  // calibrates the clock before the run, not inside it
  const bool warms_up = options.warmup_seconds > 0;
  RunControl control(options.threads, warms_up ? Phase::kWarmup : Phase::kMeasure);
  std::unique_ptr<Timeline> timeline;
  if (options.on_sample) {
    timeline =
        std::make_unique<Timeline>(options, scheme, warms_up ? Phase::kWarmup : Phase::kMeasure);
  }
  Workers workers(options.threads);
  StartGate gate;
  std::vector<platform::thread> threads;
  for (uint32_t id = 0; id < options.threads; ++id) {
    threads.emplace_back([&, id] {
      if (options.pin) platform::pin_to_core(static_cast<int>(id));
      gate.await_made(id);
      workers[id] = std::make_unique<Worker>(id, options, workload, database, protocol, scheme,
                                             control, timeline ? timeline->of(id) : nullptr);
      if (options.worker_class != nullptr) options.worker_class->join();
      platform::name_this_thread("worker-" + std::to_string(id));
      gate.made_and_await_start();
      workers[id]->run();
    });
  }
  gate.await_made(options.threads);
  Progress progress(workers);
  Progress* shown = options.progress ? &progress : nullptr;

  std::unique_ptr<Checkpointer> checkpointer;
  if (options.checkpoints != nullptr) {
    // So a blind write depends on the write before it (checkpointer.h).
    for (const auto& table : database.tables()) {
      if (table->reclaims()) table->note_membership_change();
    }
    checkpointer = std::make_unique<Checkpointer>(
        *options.checkpoints, database, scheme, control.epochs, control.question, [&workers] {
          uint64_t acknowledged = 0;
          for (const auto& worker : workers) acknowledged += worker->stats().transactions.value();
          return acknowledged;
        });
  }
  RunResult result;
  platform::ProcessUse before;
  Counters counted_before;
  std::vector<uint64_t> durable_before;
  uint64_t start = 0;
  const auto begin_to_measure = [&] {
    VLOG(1) << "measure: " << options.seconds << " s";
    result.memory_start_bytes = platform::resident_bytes();
    before = platform::process_use();
    counted_before = scheme.counters();
    durable_before = scheme.durable_positions();
    if (checkpointer) checkpointer->begin_to_measure();
    control.phase.store(Phase::kMeasure, platform::memory_order_relaxed);
    start = platform::now_ns();
  };
  if (timeline) timeline->begin();
  if (!warms_up) begin_to_measure();
  gate.start();
  if (checkpointer) checkpointer->start();
  Slept slept = Slept::kToTheEnd;
  if (warms_up) {
    VLOG(1) << "warm-up: " << options.warmup_seconds << " s, " << options.threads << " workers";
    slept = sleep_through(options.warmup_seconds, control, options.threads, shown);
    // A run that ends in its warm-up has measured nothing.
    if (slept == Slept::kToTheEnd) {
      if (timeline) timeline->enter(Phase::kMeasure);
      begin_to_measure();
    }
  }
  if (start != 0) {
    slept = sleep_through(options.seconds, control, options.threads, shown);
    result.usage = platform::process_use().since(before);
    result.counters = scheme.counters().since(counted_before);
    if (checkpointer) result.checkpoints = checkpointer->stats();
    result.durable_bytes = scheme.durable_positions();
    for (size_t s = 0; s < durable_before.size(); ++s) {
      result.durable_bytes[s] -= durable_before[s];
    }
  }
  control.end_ticks.store(platform::ticks(), platform::memory_order_relaxed);
  control.phase.store(Phase::kDrain, platform::memory_order_release);
  const uint64_t end = platform::now_ns();
  if (start != 0) {
    const bool exhausted = control.exhausted.load(platform::memory_order_acquire) == threads.size();
    result.seconds = seconds_between(
        start, exhausted ? control.exhausted_ns.load(platform::memory_order_relaxed) : end);
  }
  if (timeline) timeline->enter(Phase::kDrain);
  VLOG(1) << "drain: the measured time was " << result.seconds << " s";
  for (auto& thread : threads) thread.join();
  if (checkpointer) checkpointer->stop();
  if (timeline) timeline->end();
  if (shown != nullptr) shown->end();

  result.memory_end_bytes = platform::resident_bytes();
  result.drain_seconds = seconds_between(end, platform::now_ns());
  result.out_of_memory = slept == Slept::kOutOfMemory;
  result.interrupted = result.out_of_memory || stop_requested.load(platform::memory_order_relaxed);
  VLOG(1) << "drained in " << result.drain_seconds << " s";
  LOG_IF(WARNING, result.out_of_memory) << "the run ends early: hardly any memory is left";
  collect(workers, &result);
  return result;
}

}  // namespace logjam
