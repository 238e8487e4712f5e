// The counts and the row of a run: with a scripted workload whose outcomes are known, and with an
// open loop far above the rate of its device.
#include <gtest/gtest.h>

#include "cli/report.h"
#include "engine/run/run.h"
#include "platform/clock.h"
#include "platform/hardware_counters.h"
#include "tests/fake_pmu.h"
#include "tests/forwarding_scheme.h"
#include "tests/logging/log_fixture.h"
#include "tests/logging/watchdog.h"
#include "tests/scoped_flags.h"

namespace logjam {
namespace {

constexpr uint64_t kRecordBytes = 48;

// A transaction of the script. For each reason in `in_execute`, concurrency control aborts one
// attempt during execution. For each reason in `in_commit`, it aborts one attempt at commit. The
// last attempt has the outcome `outcome`.
struct Step {
  uint32_t type;
  Status outcome;
  std::vector<AbortReason> in_execute = {}, in_commit = {};
};

const std::vector<Step>& steps() {
  static const std::vector<Step> script = {
      {0, Status::kOk},
      {0, Status::kOk},
      {1, Status::kNotFound},
      {1, Status::kRollback},
      {0, Status::kOk, {AbortReason::kLockBusy, AbortReason::kLockBusy}},
      {1, Status::kNotFound, {}, {AbortReason::kValidation}},
      {1, Status::kRollback, {AbortReason::kPhantom}},
      {0, Status::kOk},
      {0, Status::kOk},
      {0, Status::kOk},
  };
  return script;
}

// A worker's position in the script.
struct Place {
  uint64_t step = ~uint64_t{0};
  size_t attempt = 0;
  const Step& now() const { return steps()[step % steps().size()]; }
};

class ScriptedTransaction final : public ProtocolTransaction {
 public:
  ScriptedTransaction(WorkerContext& context, Place& place) : context_(context), place_(place) {}

  void begin(bool retry) override { place_.attempt = retry ? place_.attempt + 1 : 0; }
  Status commit() override {
    if (aborts(place_.now().in_commit)) return Status::kAbort;
    context_.log_bytes += kRecordBytes;
    context_.log_records_written += 1;
    return Status::kOk;
  }
  void abort() override {}
  AbortReason abort_reason() const override { return reason_; }
  CommitPoint commit_point() const override { return CommitPoint::in_stream(0, 0); }
  bool holds_locks() const override { return false; }
  void release_locks() override {}

  Status read(Table&, Key, const std::byte**) override {
    return aborts(place_.now().in_execute) ? Status::kAbort : Status::kOk;
  }
  Status update(Table&, Key, std::byte**) override { return Status::kOk; }
  Status write(Table&, Key, std::byte**) override { return Status::kOk; }
  Status insert(Table&, Key, const std::byte*) override { return Status::kOk; }
  Status erase(Table&, Key) override { return Status::kOk; }
  Status scan(Table&, Key, Key, bool, const RowVisitor&) override { return Status::kOk; }
  Status scan_secondary(Table&, size_t, Key, Key, bool, const RowVisitor&) override {
    return Status::kOk;
  }
  Status read_secondary(Table&, size_t, Key, const RowVisitor&) override { return Status::kOk; }

 private:
  bool aborts(const std::vector<AbortReason>& reasons) {
    if (place_.attempt >= reasons.size()) return false;
    reason_ = reasons[place_.attempt];
    return true;
  }

  WorkerContext& context_;
  Place& place_;
  AbortReason reason_ = AbortReason::kCount;
};

struct Script : Workload {
  struct Worker : Client {
    Worker(Place& at, Table& of, uint64_t most) : place(at), table(of), most_steps(most) {}
    uint32_t next() override {
      ++place.step;
      return place.now().type;
    }
    Status execute(Transaction& txn) override {
      const std::byte* row;
      if (txn.read(table, 0, &row) == Status::kAbort) return Status::kAbort;
      return place.now().outcome;
    }
    bool exhausted() const override { return place.step + 1 == most_steps; }

    Place& place;
    Table& table;
    const uint64_t most_steps;
  };

  void create_tables(Database& database) override {
    database.create_table({"table", 8, IndexKind::kHash, 1, {}});
  }
  void load(Database&, uint32_t, uint32_t, Arena&) override {}
  Specification spec() const override {
    return {
        .description = "scripted",
        .types = {{"one"}, {"other"}},
        .headline = Headline{"ended well a minute", headline_type, 60, headline_with_rollbacks}};
  }
  std::unique_ptr<Client> make_client(Database& database, uint32_t worker, uint32_t,
                                      uint64_t) override {
    return std::make_unique<Worker>(places[worker], database.table("table"), most_steps);
  }
  std::vector<Check> verify(Database&) override { return {}; }

  std::array<Place, 2> places;
  std::optional<uint32_t> headline_type = 1;
  uint64_t most_steps = ~uint64_t{0};
  bool headline_with_rollbacks = false;
};

struct Measured {
  RunResult result;
  std::map<std::string, std::string> row;
};

Measured measure(Workload& workload, const ProtocolInfo& protocol, LogScheme& scheme,
                 const RunOptions& options) {
  Database database;
  load(workload, database, 1);
  Measured measured{run(workload, database, protocol, scheme, options), {}};
  const WorkloadInfo info{"scripted", "", "", {}, {}, {}};
  Settings settings;
  settings.workload = &info;
  settings.protocol = &protocol;
  settings.scheme = find_scheme("none");
  settings.run = options;
  for (const auto& [name, value] : make_row(settings, workload, measured.result, "")) {
    measured.row[name] = value.text();
  }
  return measured;
}

Measured play(Script& script, const RunOptions& options) {
  const ProtocolInfo protocol{"scripted", "", [&script](WorkerContext& context) {
                                return std::make_unique<ScriptedTransaction>(
                                    context, script.places[context.id]);
                              }};
  return measure(script, protocol, *find_scheme("none")->make({.workers = 2}), options);
}

TEST(Measurement, EveryOutcomeIsCountedAsWhatItIs) {
  for (const CommitPolicy commit :
       {CommitPolicy::kSync, CommitPolicy::kPipelined, CommitPolicy::kAsync}) {
    Script script;
    if (commit == CommitPolicy::kAsync) script.headline_type = {};  // all types
    const auto [result, row] =
        play(script,
             {.threads = 2, .seconds = 3600, .commit = commit, .transactions = 1000, .pin = false});
    EXPECT_EQ(result.by_type[0].transactions, 1200u);
    EXPECT_EQ(result.by_type[0].misses + result.by_type[0].rollbacks, 0u);
    EXPECT_EQ(result.by_type[1].transactions, 400u);
    EXPECT_EQ(result.by_type[1].misses, 400u);
    EXPECT_EQ(result.by_type[1].rollbacks, 400u);
    EXPECT_EQ(result.execution.count(), 1600u);
    EXPECT_EQ(result.commit.count(), 1600u);
    EXPECT_FALSE(result.interrupted);
    ASSERT_GT(result.seconds, 0);

    EXPECT_EQ(row.at("transactions"), "1600");
    EXPECT_EQ(row.at("tps"), number(1600 / result.seconds).text());
    EXPECT_EQ(row.at("achieved_s"), number(2000 / result.seconds).text());
    EXPECT_EQ(row.at("headline_rate"),
              number((script.headline_type ? 400 : 1600) * 60 / result.seconds).text());
    EXPECT_EQ(row.at("misses"), "400");
    EXPECT_EQ(row.at("rollbacks"), "400");
    EXPECT_EQ(row.at("aborts"), "800");
    EXPECT_EQ(row.at("abort_pct"), "28.571");  // 800 of 2800 attempts
    EXPECT_EQ(row.at("aborts_lock_busy"), "400");
    EXPECT_EQ(row.at("aborts_validation"), "200");
    EXPECT_EQ(row.at("aborts_phantom"), "200");
    EXPECT_EQ(row.at("aborts_died"), "0");
    EXPECT_EQ(row.at("log_bytes_txn"), "48.0");
    EXPECT_EQ(row.at("log_records_txn"), "1.00");
    EXPECT_EQ(row.at("offered_s") + row.at("backlog"), "");
  }
}

TEST(Measurement, TheHeadlineCountsRolledBackTransactionsIfItSaysSo) {
  for (const bool with_rollbacks : {false, true}) {
    Script script;
    script.headline_with_rollbacks = with_rollbacks;
    const auto [result, row] =
        play(script, {.threads = 2, .seconds = 3600, .transactions = 1000, .pin = false});
    EXPECT_EQ(row.at("headline"), "ended well a minute");
    EXPECT_EQ(row.at("headline_rollbacks"), with_rollbacks ? "counted" : "not counted");
    EXPECT_EQ(row.at("headline_rate"),
              number((with_rollbacks ? 800 : 400) * 60 / result.seconds).text());
  }
}

TEST(Measurement, ARunThatEndsInItsWarmUpHasMeasuredNothing) {
  Script script;
  script.most_steps = 50;
  const auto [result, row] =
      play(script, {.threads = 2, .warmup_seconds = 60, .seconds = 60, .pin = false});
  EXPECT_EQ(script.places[0].step, 49u);
  EXPECT_EQ(result.seconds, 0);
  EXPECT_EQ(result.transactions + result.misses + result.rollbacks + result.abort_count(), 0u);
  EXPECT_EQ(result.execution.count() + result.commit.count() + result.log_bytes, 0u);
  for (const TypeCounts& type : result.by_type) EXPECT_EQ(type.transactions + type.rollbacks, 0u);
  for (const char* column :
       {"tps", "abort_pct", "commit_p50_us", "log_mb_s", "log_bytes_txn", "pipeline_full_pct",
        "cpu_pct", "time_work_pct", "flushes", "transactions_sync", "cycles_txn"}) {
    EXPECT_EQ(row.at(column), "") << column;
  }
  EXPECT_EQ(row.at("unsteady"), "the run ended in its warm-up, so nothing was measured");
}

// The fake counts 5000 of each event in the warm-up, and 3000 in the measured time.
TEST(Measurement, TheProcessorsCountersCountInTheMeasuredTimeAlone) {
  FakePmu pmu;
  platform::atomic<uint64_t> warm_ups{0}, drains{0};  // intervals of the time line
  int readings = 0;
  pmu.reads = [&] {
    if (readings++ % platform::kHardwareEvents.size() != 0) return;
    pmu.run(readings == 1 ? 5000 : 3000);
    EXPECT_GT(warm_ups.load(), 0u) << "the warm-up has ended";
    EXPECT_EQ(drains.load(), 0u) << "the measured time has not";
  };
  const platform::HardwareCounters counters(platform::kHardwareEvents, pmu.calls());
  const Watchdog watchdog("no transaction is acknowledged in the window");
  for (double seconds = 0.1;; seconds *= 2) {
    Script script;
    RunOptions options = {
        .threads = 2, .warmup_seconds = seconds, .seconds = seconds, .pin = false};
    options.hardware = &counters;
    options.on_sample = [&](const TimelineSample& sample) {
      if (sample.phase == Phase::kWarmup) warm_ups.fetch_add(1);
      if (sample.phase == Phase::kDrain) drains.fetch_add(1);
    };
    const auto [result, row] = play(script, options);
    EXPECT_EQ(readings, 2 * static_cast<int>(platform::kHardwareEvents.size()));
    for (const platform::PerfCount& count : result.hardware.counts) EXPECT_EQ(count.count, 3000u);
    EXPECT_EQ(row.at("counters_note"), "");
    readings = 0, warm_ups = 0, drains = 0;
    if (result.transactions == 0) continue;
    const auto transactions = static_cast<double>(result.transactions);
    EXPECT_EQ(row.at("cycles_txn"), number(3000 / transactions).text());
    EXPECT_EQ(row.at("tlb_misses_txn"), number(3000 / transactions, 3).text());
    break;
  }
}

TEST(Measurement, WithoutCountersTheirColumnsAreEmptyAndTheNoteSaysWhy) {
  FakePmu pmu;
  pmu.refuse_all(ENOENT);
  const platform::HardwareCounters counters(platform::kHardwareEvents, pmu.calls());
  Script script;
  RunOptions options = {.threads = 2, .seconds = 3600, .transactions = 100, .pin = false};
  options.hardware = &counters;
  const auto [result, row] = play(script, options);
  EXPECT_GT(result.transactions, 0u);
  for (const char* column :
       {"cycles_txn", "instructions_txn", "llc_misses_txn", "tlb_misses_txn"}) {
    EXPECT_EQ(row.at(column), "") << column;
  }
  EXPECT_EQ(row.at("counters_note"), "the kernel sees no PMU: many virtual machines have none");
}

// A scheme that makes no record durable until the test calls open().
class Stalled final : public ForwardingScheme {
 public:
  Stalled() : ForwardingScheme(1) {}

  bool is_durable(const CommitPoint&) const override { return open_.load(); }
  void wait_durable(uint32_t, const CommitPoint&) override {
    while (!open_.load()) platform::sleep_ns(1'000'000);
  }
  void open() { open_.store(true); }

 private:
  platform::atomic<bool> open_{false};
};

class StalledRun : public testing::Test {
 protected:
  // Opens the log after the first sample of the measured time.
  Measured run_for(double seconds, uint64_t sample_ms, CommitPolicy commit) {
    ScopedFlags flags;
    flags.set("ycsb_records", 1000);
    Stalled log;
    RunOptions options = {.threads = 1,
                          .warmup_seconds = seconds,
                          .seconds = seconds,
                          .commit = commit,
                          .pipeline_depth = 4,
                          .breakdown = true,
                          .pin = false};
    options.on_sample = [&log](const TimelineSample& sample) {
      if (sample.phase == Phase::kMeasure) log.open();
    };
    options.sample_ms = sample_ms;
    const auto workload = find_workload("ycsb")->make();
    return measure(*workload, *find_protocol("occ"), log, options);
  }
};

TEST_F(StalledRun, AWindowInWhichNothingEndedHasNoLatencyAndIsUnsteady) {
  for (const CommitPolicy commit : {CommitPolicy::kSync, CommitPolicy::kPipelined}) {
    constexpr uint64_t kOnlyAtTheEnd = 3'600'000;
    const auto [result, row] = run_for(0.1, kOnlyAtTheEnd, commit);
    EXPECT_EQ(result.transactions, 0u);
    EXPECT_EQ(row.at("tps"), "0.0");
    for (const char* column : {"commit_p50_us", "commit_max_us", "log_bytes_txn", "cpu_us_txn"}) {
      EXPECT_EQ(row.at(column), "") << column;
    }
    EXPECT_EQ(row.at("unsteady"), "no transaction was acknowledged in the window");
    if (commit != CommitPolicy::kPipelined) continue;
    // The worker waits during a part of the measured time.
    EXPECT_GT(std::stod(row.at("pipeline_full_pct")), 0);
  }
}

TEST_F(StalledRun, WhatCountsForThroughputCountsForLatencyWhereverItBegan) {
  const Watchdog watchdog("no transaction of the warm-up is acknowledged in the window");
  for (double seconds = 0.1;; seconds *= 2) {
    const auto [result, row] = run_for(seconds, 5, CommitPolicy::kPipelined);
    EXPECT_EQ(result.commit.count(), result.transactions);
    if (result.transactions > 0) break;
  }
}

// One worker with 1,000 arrivals per second, on a device that takes 20 ms for each commit.
class Overloaded : public testing::Test {
 protected:
  Measured measure_at_1000(double seconds, uint64_t transactions) {
    ScopedFlags flags;
    flags.set("ycsb_records", 1000);
    flags.set("ycsb_ratios", "read:0");
    flags.set("ycsb_ops", 1);
    LogOptions options = log_options(*find_scheme("centr"), directory_, "sim:20000", 1);
    Log log(options);
    log.start();
    const auto workload = find_workload("ycsb")->make();
    return measure(*workload, *find_protocol("occ"), log.scheme(),
                   {.threads = 1,
                    .seconds = seconds,
                    .commit = CommitPolicy::kSync,
                    .transactions = transactions,
                    .rates = {{.from_seconds = 0, .per_second = 1000}},
                    .pin = false});
  }

  static double ms(uint64_t ticks) { return platform::ticks_to_ns(ticks) * 1e-6; }

  LogDirectory directory_;
};

// A worker that thinks for 5 ms on average begins at most 200 transactions a second. The last think
// time does not end with the run.
TEST(ThinkTime, AWorkerWaitsBeforeItsNextTransaction) {
  ScopedFlags flags;
  flags.set("ycsb_records", 1000);
  const LogDirectory directory;
  Log log(log_options(*find_scheme("centr"), directory, "null", 1));
  log.start();
  const auto workload = find_workload("ycsb")->make();
  const auto begin = std::chrono::steady_clock::now();
  const auto [result, row] = measure(
      *workload, *find_protocol("occ"), log.scheme(),
      {.threads = 1, .seconds = 60, .transactions = 40, .think_ns = 5'000'000, .pin = false});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(result.transactions, 40u);
  EXPECT_GT(took.count(), 0.08);  // 39 think times: 0.195 s on average
}

// The 20th transaction begins at least 380 ms after the first, and has waited most of this time.
TEST_F(Overloaded, LatencyCountsFromTheIntendedStartAndExecutionFromTheActualOne) {
  const auto [result, row] = measure_at_1000(60, 20);
  EXPECT_EQ(result.transactions, 20u);
  EXPECT_EQ(result.arrivals, 20u);
  EXPECT_EQ(result.commit.count(), 20u);
  EXPECT_EQ(result.execution.count(), 20u);
  EXPECT_GT(ms(result.commit.percentile(0.5)), 100);
  EXPECT_LT(ms(result.execution.percentile(0.5)), ms(result.commit.percentile(0.5)) / 2);
}

TEST_F(Overloaded, ArrivalsThatAreNotAcknowledgedByTheEndAreCounted) {
  const auto [result, row] = measure_at_1000(0.5, 0);
  EXPECT_EQ(result.rollbacks, 0u);
  EXPECT_EQ(result.arrivals, result.transactions + result.backlog);
  EXPECT_EQ(result.commit.count(), result.arrivals);
  EXPECT_GT(result.backlog, 4 * result.transactions);
  EXPECT_GT(result.arrivals, 400 * result.seconds);
  EXPECT_LT(result.arrivals, 1500 * result.seconds);
  EXPECT_GT(ms(result.commit.percentile(0.5)), 100);
  EXPECT_EQ(row.at("offered_s"),
            number(static_cast<double>(result.arrivals) / result.seconds).text());
  EXPECT_EQ(row.at("achieved_s"), row.at("tps"));
  EXPECT_EQ(row.at("tps"),
            number(static_cast<double>(result.transactions) / result.seconds).text());
  EXPECT_EQ(row.at("backlog"), std::to_string(result.backlog));
}

}  // namespace
}  // namespace logjam
