#include "engine/run/run.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "engine/run/benchmark_threads.h"
#include "engine/run/memory_guard.h"
#include "engine/run/steadiness.h"
#include "engine/run/timeline.h"
#include "engine/run/worker.h"
#include "platform/clock.h"
#include "platform/memory.h"
#include "platform/parallel.h"
#include "platform/placement.h"
#include "platform/thread.h"
#include "platform/thread_annotations.h"
#include "platform/worker_class.h"

namespace logjam {
namespace {

// A signal handler stores this flag. The main thread of a run loads it.
platform::atomic<bool> stop_requested{false};
static_assert(decltype(stop_requested)::is_always_lock_free);

// A run ends when less memory is available than kMemoryToLeave, and less than 1 / kShareToLeave of
// the memory that was available when the run began. So its inserts cannot exhaust the memory.
constexpr uint64_t kMemoryToLeave = uint64_t{256} << 20;
constexpr uint64_t kShareToLeave = 4;

// Before a run starts, its workers take the memory for their inserts, because a page fault stalls a
// worker. A fault of a huge page takes 4.3 ms if the hypervisor has not given that page before, and
// 0.09 ms otherwise. The workers take at most the part kMostPrefaulted of the available memory.
// They stop after kMostPrefaultingNs, or after the run's planned time if that is shorter.
constexpr double kMostPrefaulted = 0.25;
constexpr uint64_t kMostPrefaultingNs = 10'000'000'000;

using Workers = std::vector<std::unique_ptr<Worker>>;

double seconds_between(uint64_t begin_ns, uint64_t end_ns) {
  return static_cast<double>(end_ns - begin_ns) * 1e-9;
}

// The line on stderr that a person watches during a run.
class ProgressLine {
 public:
  explicit ProgressLine(const Workers& workers)
      : workers_(workers), begun_ns_(platform::now_ns()), shown_ns_(begun_ns_) {}

  void print_if_due(uint64_t now_ns) {
    if (now_ns - shown_ns_ < 1'000'000'000) return;
    const double elapsed = seconds_between(shown_ns_, now_ns);
    Totals now = totals();
    const auto rate = [&](uint64_t later, uint64_t earlier) {
      return static_cast<double>(later - earlier) / elapsed;
    };
    std::fprintf(stderr,
                 "\r%5.0f s  %9.0f txn/s  %8.0f aborts/s  %7.1f MB/s log  commit p99 %.3f ms\033[K",
                 seconds_between(begun_ns_, now_ns), rate(now.transactions, last_.transactions),
                 rate(now.aborts, last_.aborts), rate(now.bytes, last_.bytes) * 1e-6,
                 platform::ticks_to_ns(now.commit.since(last_.commit).percentile(0.99)) * 1e-6);
    shown_ns_ = now_ns;
    last_ = std::move(now);
  }
  static void clear() { std::fprintf(stderr, "\r\033[K"); }

 private:
  struct Totals {
    uint64_t transactions = 0, aborts = 0, bytes = 0;
    HistogramSum commit;
  };
  Totals totals() const {
    Totals sum;
    for (const auto& worker : workers_) {
      for (const WorkerStats* stats : {&worker->warm_up_stats(), &worker->stats()}) {
        sum.transactions += stats->transactions();
        sum.bytes += stats->log_bytes.value();
        for (const platform::Counter& counter : stats->aborts) sum.aborts += counter.value();
        stats->add_commit_to(&sum.commit);
      }
    }
    return sum;
  }

  const Workers& workers_;
  uint64_t begun_ns_, shown_ns_;
  Totals last_;
};

void add_up_by_length(const Workers& workers, RunResult* result) {
  if (std::ranges::none_of(workers, [](const auto& worker) { return worker->is_long(); })) return;
  for (const auto& worker : workers) {
    auto& sum = worker->is_long() ? result->of_long : result->of_short;
    if (!sum) sum.emplace();
    sum->transactions += worker->stats().transactions();
    worker->stats().add_commit_to(&sum->commit);
  }
}

void add_up(const Workers& workers, RunResult* result) {
  result->by_type.resize(workers.front()->stats().by_type.size());
  for (const auto& worker : workers) {
    result->visit(worker->stats(), [](auto& sum, const auto& part) {
      if constexpr (requires { sum.add(part); }) {
        sum.add(part);
      } else {
        sum += part.value();
      }
    });
    worker->stats().add_commit_to(&result->commit);
    if (const auto bytes = worker->old_version_bytes()) {
      result->old_version_bytes = result->old_version_bytes.value_or(0) + *bytes;
    }
    for (size_t i = 0; i < result->activity_ticks.size(); ++i) {
      result->activity_ticks[i] += worker->breakdown().sampled_ticks()[i];
    }
  }
  for (const TypeCounts& type : result->by_type) {
    result->transactions += type.transactions;
    result->misses += type.misses;
    result->rollbacks += type.rollbacks;
  }
}

// Shows the loading bar until `loaded` is true. The bar shows the memory of the arenas. At the end
// the bar is not full, because `expected_bytes` includes memory that is in no arena.
void watch_loading(uint64_t expected_bytes, const std::vector<platform::Padded<Arena>>& arenas,
                   const platform::atomic<bool>& loaded) {
  constexpr uint64_t kCells = 40;
  uint64_t drawn = ~uint64_t{0};
  while (!loaded.load(platform::memory_order_relaxed)) {
    uint64_t bytes = 0;
    for (const auto& arena : arenas) bytes += arena->allocated_bytes();
    const uint64_t cells = std::min(kCells, bytes * kCells / std::max<uint64_t>(expected_bytes, 1));
    if (cells != drawn) {
      drawn = cells;
      std::fprintf(stderr, "\rloading [%s%s] %lu of about %lu MiB\033[K",
                   std::string(cells, '#').c_str(), std::string(kCells - cells, ' ').c_str(),
                   bytes >> 20, expected_bytes >> 20);
    }
    platform::sleep_ns(20'000'000);
  }
  if (drawn != ~uint64_t{0}) ProgressLine::clear();
}

// The steps of a run, which the main thread calls in the order of their declaration.
class Run {
 public:
  Run(Workload& workload, Database& database, const ProtocolInfo& protocol, LogScheme& scheme,
      const RunOptions& options)
      : workload_(workload),
        database_(database),
        protocol_(protocol),
        scheme_(scheme),
        options_(options),
        warms_up_(options.warmup_seconds > 0),
        control_(options.threads, warms_up_ ? Phase::kWarmup : Phase::kMeasure),
        arenas_(options.threads),
        workers_(options.threads) {}

  // Makes all parts of the run, each worker on its own thread.
  void spawn();
  // Warms up if the options ask for it. Returns false if the run has ended: do not call measure().
  bool warm_up();
  void measure();
  // Ends the run, and waits until all transactions are acknowledged.
  void drain();
  RunResult collect();

 private:
  enum class Slept : uint8_t { kToTheEnd, kStopped, kOutOfMemory };
  enum class Step : uint8_t { kMade, kSpawned, kWarm, kMeasured, kDrained };

  struct Before {
    uint64_t start_ns;
    platform::ProcessUse usage;
    platform::HardwareReading hardware;
    Counters counters;
    std::vector<uint64_t> durable;
  };

  void prefault(uint32_t id, uint64_t until_ns);
  void make_worker(uint32_t id) LJ_REQUIRES(platform::worker_role);
  void make_checkpointer();
  void start_workers();
  uint64_t acknowledged() const;  // by all workers, in the measured phase
  platform::HardwareReading read_hardware() const {
    return options_.hardware == nullptr ? platform::HardwareReading() : options_.hardware->read();
  }
  Slept sleep(double seconds);
  Slept sleep_until_steady();
  bool all_exhausted() const {
    return control_.exhausted.load(platform::memory_order_acquire) == options_.threads;
  }

  Workload& workload_;
  Database& database_;
  const ProtocolInfo& protocol_;
  LogScheme& scheme_;
  const RunOptions& options_;
  const bool warms_up_;
  const uint64_t left_at_start_ = platform::available_bytes();  // bytes of memory
  RunControl control_;
  std::unique_ptr<Timeline> timeline_;  // null: none
  std::vector<platform::Padded<Arena>> arenas_;
  Workers workers_;
  StartGate gate_;
  std::vector<platform::thread> threads_;
  std::optional<ProgressLine> progress_;        // none: not shown
  std::unique_ptr<Checkpointer> checkpointer_;  // null: none
  std::optional<Before> before_;                // none: nothing was measured
  Slept slept_ = Slept::kToTheEnd;
  Step done_ = Step::kMade;
  RunResult result_;
};

void Run::spawn() {
  LJ_ASSERT(done_ == Step::kMade);
  done_ = Step::kSpawned;
  if (options_.on_sample) {
    timeline_ =
        std::make_unique<Timeline>(options_, scheme_, warms_up_ ? Phase::kWarmup : Phase::kMeasure);
  }
  if (protocol_.stamps_reads) control_.read_stamps.emplace();
  if (protocol_.keeps_old_versions && options_.snapshot == SnapshotRule::kDurable) {
    database_.commit_clock().track(options_.threads);
  }
  const uint64_t prefaulted_ns =
      platform::now_ns() +
      std::min(kMostPrefaultingNs, static_cast<uint64_t>(options_.most_seconds() * 1e9));
  for (uint32_t id = 0; id < options_.threads; ++id) {
    threads_.emplace_back([this, id, prefaulted_ns] {
      const platform::ThreadRole::Scope role(platform::worker_role);
      prefault(id, prefaulted_ns);
      make_worker(id);
      gate_.made_and_await_start();
      workers_[id]->run();
      if (options_.pin) platform::look_at_pin(static_cast<int>(id));
    });
  }
  gate_.await_made(options_.threads);
  if (options_.progress) progress_.emplace(workers_);
  if (options_.checkpoints != nullptr) make_checkpointer();
  if (timeline_) timeline_->begin();
}

// Takes the memory for the inserts of worker `id`. Takes none if there are more workers than cores,
// because waits for cores then take longer than page faults (12 s for 60 workers on two cores).
void Run::prefault(uint32_t id, uint64_t until_ns) {
  if (options_.pin) {
    platform::pin_to_core(static_cast<int>(id));
    arenas_[id]->lie_on(platform::node_of_core(static_cast<int>(id)));
  }
  if (static_cast<int>(options_.threads) > platform::core_count()) return;
  const double growth =
      expected_growth(static_cast<double>(workload_.spec().growth_bytes_s), options_);
  const double most =
      static_cast<double>(platform::available_bytes()) * kMostPrefaulted / options_.threads;
  arenas_[id]->prefault(static_cast<uint64_t>(std::min(growth, most)), until_ns);
}

void Run::make_worker(uint32_t id) {
  gate_.await_made(id);
  workers_[id] =
      std::make_unique<Worker>(id, options_, workload_, database_, protocol_, scheme_, control_,
                               *arenas_[id], timeline_ ? timeline_->of(id) : nullptr);
  if (options_.worker_class != nullptr) options_.worker_class->join();
  platform::name_this_thread("worker-" + std::to_string(id));
}

void Run::make_checkpointer() {
  // Blind writes to these tables must count as reads, as checkpoints require (checkpointer.h).
  for (const auto& table : database_.tables()) {
    if (table->reclaims()) table->note_membership_change();
  }
  checkpointer_ =
      std::make_unique<Checkpointer>(*options_.checkpoints, database_, scheme_, control_.epochs,
                                     control_.question, [this] { return acknowledged(); });
}

uint64_t Run::acknowledged() const {
  uint64_t all = 0;
  for (const auto& worker : workers_) all += worker->stats().transactions();
  return all;
}

void Run::start_workers() {
  gate_.start();
  if (checkpointer_) checkpointer_->start();
}

bool Run::warm_up() {
  LJ_ASSERT(done_ == Step::kSpawned);
  done_ = Step::kWarm;
  if (!warms_up_) return true;
  start_workers();
  VLOG(1) << "warm-up: " << options_.warmup_seconds << " s, " << options_.threads << " workers";
  const uint64_t begun_ns = platform::now_ns();
  slept_ =
      options_.most_warmup_seconds == 0 ? sleep(options_.warmup_seconds) : sleep_until_steady();
  result_.warmup_seconds = seconds_between(begun_ns, platform::now_ns());
  return slept_ == Slept::kToTheEnd;
}

void Run::measure() {
  LJ_ASSERT(done_ == Step::kWarm && slept_ == Slept::kToTheEnd);
  done_ = Step::kMeasured;
  if (warms_up_ && timeline_) timeline_->enter(Phase::kMeasure);
  VLOG(1) << "measure: " << options_.seconds << " s";
  result_.memory_start_bytes = platform::resident_bytes();
  before_.emplace(Before{.start_ns = 0,
                         .usage = platform::process_use(),
                         .hardware = read_hardware(),
                         .counters = scheme_.counters(),
                         .durable = scheme_.durable_positions()});
  if (checkpointer_) checkpointer_->begin_to_measure();
  platform::begin_measured_time();
  control_.window.begin(platform::ticks());
  control_.phase.store(Phase::kMeasure, platform::memory_order_release);
  before_->start_ns = platform::now_ns();
  if (!warms_up_) start_workers();
  slept_ = sleep(options_.seconds / 2);
  const uint64_t first_half = acknowledged();
  if (slept_ == Slept::kToTheEnd) slept_ = sleep(options_.seconds / 2);
  if (slept_ == Slept::kToTheEnd) result_.first_half = first_half;
  result_.usage = platform::process_use().since(before_->usage);
  result_.hardware = read_hardware().since(before_->hardware);
  result_.counters = scheme_.counters().since(before_->counters);
  if (checkpointer_) result_.checkpoints = checkpointer_->stats();
  result_.durable_bytes = scheme_.durable_positions();
  for (size_t s = 0; s < result_.durable_bytes.size(); ++s) {
    result_.durable_bytes[s] -= before_->durable[s];
  }
}

// Sleeps for `seconds`. Ends early on request_stop(), if all workers ended, or if memory runs out.
Run::Slept Run::sleep(double seconds) {
  MemoryGuard memory(std::min(kMemoryToLeave, left_at_start_ / kShareToLeave),
                     platform::available_bytes);
  Slept early = Slept::kStopped;
  const bool to_the_end = sleep_through(seconds, [&](uint64_t now) {
    if (options_.watch) options_.watch();
    if (stop_requested.load(platform::memory_order_relaxed) || all_exhausted()) return true;
    if (memory.hardly_any_left(now)) {
      early = Slept::kOutOfMemory;
      return true;
    }
    if (progress_) progress_->print_if_due(now);
    return false;
  });
  return to_the_end ? Slept::kToTheEnd : early;
}

// Looks at the last --warmup seconds each time that a quarter of them has passed. Reads two
// counters of each worker and no latencies, which would fill a simulated machine's shared caches.
Run::Slept Run::sleep_until_steady() {
  constexpr size_t kQuarters = 4;
  struct Sample {
    uint64_t committed = 0, acknowledged = 0;
  };
  const double quarter = options_.warmup_seconds / kQuarters;
  const uint64_t begun_ns = platform::now_ns();
  std::vector<Sample> samples = {{}};
  while (true) {
    const Slept slept = sleep(quarter);
    if (slept != Slept::kToTheEnd) return slept;
    Sample& last = samples.emplace_back();
    for (const auto& worker : workers_) {
      last.committed += worker->warm_up_stats().committed.value();
      last.acknowledged += worker->warm_up_stats().transactions();
    }
    if (samples.size() <= kQuarters) continue;
    const Sample* const first = &last - kQuarters;
    const uint64_t acknowledged = last.acknowledged - first->acknowledged;
    const std::string why =
        why_unsteady({.committed = last.committed - first->committed,
                      .acknowledged = acknowledged,
                      .with_latency = acknowledged,
                      .first_half = first[kQuarters / 2].acknowledged - first->acknowledged,
                      .seconds = options_.warmup_seconds});
    if (why.empty()) return slept;
    VLOG(1) << "warm-up: " << why;
    const double seconds = seconds_between(begun_ns, platform::now_ns());
    if (seconds + quarter > options_.most_warmup_seconds) return slept;
  }
}

void Run::drain() {
  LJ_ASSERT(done_ == Step::kWarm || done_ == Step::kMeasured);
  done_ = Step::kDrained;
  control_.window.end(platform::ticks());
  if (before_) platform::end_measured_time();
  control_.phase.store(Phase::kDrain, platform::memory_order_release);
  const uint64_t end = platform::now_ns();
  if (before_) {
    result_.seconds = seconds_between(
        before_->start_ns,
        all_exhausted() ? control_.exhausted_ns.load(platform::memory_order_relaxed) : end);
  }
  if (timeline_) timeline_->enter(Phase::kDrain);
  VLOG(1) << "drain: the measured time was " << result_.seconds << " s";
  for (auto& thread : threads_) thread.join();
  if (checkpointer_) checkpointer_->stop();
  if (timeline_) timeline_->end();
  if (progress_) ProgressLine::clear();
  result_.memory_end_bytes = platform::resident_bytes();
  result_.drain_seconds = seconds_between(end, platform::now_ns());
  VLOG(1) << "drained in " << result_.drain_seconds << " s";
}

RunResult Run::collect() {
  LJ_ASSERT(done_ == Step::kDrained);
  result_.out_of_memory = slept_ == Slept::kOutOfMemory;
  result_.interrupted =
      result_.out_of_memory || stop_requested.load(platform::memory_order_relaxed);
  LOG_IF(WARNING, result_.out_of_memory) << "the run ends early: hardly any memory is left";
  add_up(workers_, &result_);
  add_up_by_length(workers_, &result_);
  return std::move(result_);
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
  // The rows of part `part` lie on the NUMA node where worker `part` of the run will be.
  const auto node_of = [](uint32_t part) { return platform::node_of_core(static_cast<int>(part)); };
  std::vector<platform::Padded<Arena>> arenas(threads);
  for (uint32_t part = 0; part < threads; ++part) arenas[part]->lie_on(node_of(part));
  // This thread takes part in the load, so another thread shows the bar.
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
  Run run(workload, database, protocol, scheme, options);
  run.spawn();
  if (run.warm_up()) run.measure();
  run.drain();
  return run.collect();
}

}  // namespace logjam
