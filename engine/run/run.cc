#include "engine/run/run.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "engine/run/progress.h"
#include "engine/run/worker.h"
#include "engine/stats/usage.h"
#include "platform/clock.h"
#include "platform/memory.h"
#include "platform/thread.h"

namespace logjam {
namespace {

// Written by a signal handler, so lock-free; read by the main thread of a run.
platform::atomic<bool> stop_requested{false};

// Workloads that insert grow for as long as they run. Enough for the checks afterwards.
constexpr uint64_t kMemoryToLeave = uint64_t{256} << 20;

// Sleeps for a phase; ends early on request_stop(), when no worker can do more, or when there is
// hardly any memory left (true).
bool sit_through(double seconds, const RunControl& control, uint32_t workers, Progress* progress) {
  constexpr uint64_t kSecond = 1'000'000'000;
  const uint64_t end = platform::now_ns() + static_cast<uint64_t>(seconds * 1e9);
  uint64_t next_look = 0;
  while (!stop_requested.load(platform::memory_order_relaxed) &&
         control.exhausted.load(platform::memory_order_relaxed) < workers) {
    const uint64_t now = platform::now_ns();
    if (now >= end) return false;
    if (now >= next_look) {
      if (platform::available_bytes() < kMemoryToLeave) return true;
      next_look = now + kSecond;
    }
    if (progress != nullptr) progress->look(now);
    platform::sleep_ns(std::min<uint64_t>(end - now, 20'000'000));
  }
  return false;
}

void collect(const Workers& workers, RunResult* result) {
  std::array<uint64_t, static_cast<size_t>(Activity::kCount)> activity_ticks{};
  for (const auto& worker : workers) {
    const WorkerStats& stats = worker->stats();
    result->transactions += stats.transactions.value();
    result->misses += stats.misses.value();
    result->rollbacks += stats.rollbacks.value();
    result->log_bytes += stats.log_bytes.value();
    result->log_records += stats.log_records.value();
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
  const auto all = static_cast<double>(
      std::accumulate(activity_ticks.begin(), activity_ticks.end(), uint64_t{0}));
  for (size_t i = 0; i < activity_ticks.size() && all > 0; ++i) {
    result->activity_share[i] = static_cast<double>(activity_ticks[i]) / all;
  }
}

}  // namespace

uint64_t RunResult::abort_count() const {
  return std::accumulate(aborts.begin(), aborts.end(), uint64_t{0});
}

void request_stop() { stop_requested.store(true, platform::memory_order_relaxed); }

void load(Workload& workload, Database& database, uint32_t threads, bool progress) {
  workload.create_tables(database);
  std::vector<platform::thread> loaders;
  std::vector<platform::Padded<Arena>> arenas(threads);
  platform::atomic<uint32_t> finished{0};
  for (uint32_t part = 0; part < threads; ++part) {
    loaders.emplace_back([&, part] {
      platform::pin_to_core(static_cast<int>(part));
      workload.load(database, part, threads, *arenas[part]);
      finished.fetch_add(1, platform::memory_order_relaxed);
    });
  }
  // Whatever a workload loads, it fills memory, and it has said how much.
  LoadingBar bar(workload.expected_bytes());
  while (progress && finished.load(platform::memory_order_relaxed) < threads) {
    uint64_t bytes = 0;
    for (const auto& arena : arenas) bytes += arena->allocated_bytes();
    bar.show(bytes);
    platform::sleep_ns(20'000'000);
  }
  for (auto& loader : loaders) loader.join();
  if (progress) bar.end();
}

RunResult run(Workload& workload, Database& database, const ProtocolInfo& protocol,
              LogScheme& scheme, const RunOptions& options) {
  platform::ns_per_tick();  // calibrates now, not inside the run
  RunControl control(options.threads);
  Workers workers;
  for (uint32_t id = 0; id < options.threads; ++id) {
    workers.push_back(
        std::make_unique<Worker>(id, options, workload, database, protocol, scheme, control));
  }
  std::vector<platform::thread> threads;
  for (auto& worker : workers) threads.emplace_back([&worker] { worker->run(); });

  Progress progress(workers);
  Progress* shown = options.progress ? &progress : nullptr;
  const auto enter = [&](Phase phase) {
    control.phase.store(phase, platform::memory_order_relaxed);
    return platform::now_ns();
  };
  RunResult result;
  result.out_of_memory = sit_through(options.warmup_seconds, control, options.threads, shown);
  result.memory_start_bytes = platform::resident_bytes();
  const Usage before = usage_now();
  const Counters counted_before = scheme.counters();
  const uint64_t start = enter(Phase::kMeasure);
  if (!result.out_of_memory) {
    result.out_of_memory = sit_through(options.seconds, control, options.threads, shown);
  }
  const Usage after = usage_now();
  const Counters counted = scheme.counters().since(counted_before);
  const uint64_t end = enter(Phase::kDrain);
  for (auto& thread : threads) thread.join();
  if (shown != nullptr) shown->end();

  result.memory_end_bytes = platform::resident_bytes();
  result.seconds = static_cast<double>(end - start) * 1e-9;
  result.drain_seconds = static_cast<double>(platform::now_ns() - end) * 1e-9;
  result.interrupted = result.out_of_memory || stop_requested.load(platform::memory_order_relaxed);
  result.usage = after.since(before);
  result.counters = counted;
  collect(workers, &result);
  return result;
}

}  // namespace logjam
