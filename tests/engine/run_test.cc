// The run loop with a log whose durability the test controls: pipeline, erased rows, time line.
#include "engine/run/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "engine/run/timeline.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "tests/forwarding_scheme.h"
#include "tests/logging/log_fixture.h"
#include "tests/logging/watchdog.h"
#include "tests/scoped_flags.h"

namespace logjam {
namespace {

// A log scheme for one worker. When the worker waits, `on_wait` decides which commits are durable.
class HeldLog final : public ForwardingScheme {
 public:
  explicit HeldLog(std::function<void(HeldLog&, uint64_t)> on_wait)
      : ForwardingScheme(1), on_wait_(std::move(on_wait)) {}

  LogReservation reserve(uint32_t, const Dependencies&, uint32_t) override {
    return {.sequence = ++last};
  }
  CommitPoint publish(uint32_t, const LogReservation& reservation, RecordRole) override {
    return CommitPoint::in_stream(0, reservation.sequence);
  }
  CommitPoint commit_read_only(uint32_t, const Dependencies& deps) override {
    return CommitPoint::in_stream(0, deps.max_read);
  }
  bool is_durable(const CommitPoint& point) const override {
    return point.sequence <= durable.load(platform::memory_order_acquire);
  }
  void wait_durable(uint32_t, const CommitPoint& point) override {
    on_wait_(*this, point.sequence);
  }

  uint64_t last = 0;  // only the worker uses it
  platform::atomic<uint64_t> durable{0};

 private:
  const std::function<void(HeldLog&, uint64_t)> on_wait_;
};

// A workload of one worker. Step i calls execute(txn, table, i). The last step has number `most`.
struct Steps : Workload {
  using Execute = std::function<Status(Transaction&, Table&, Key)>;
  struct Worker : Client {
    Worker(Steps& workload, Database& database) : steps(workload), table(database.table("rows")) {}
    uint32_t next() override {
      ++at;
      return steps.type;
    }
    Status execute(Transaction& txn) override { return steps.execute(txn, table, at); }
    bool exhausted() const override { return steps.most != 0 && at + 1 == steps.most; }

    Steps& steps;
    Table& table;
    Key at = ~Key{0};
  };

  explicit Steps(Execute body, Key count = 0) : execute(std::move(body)), most(count) {}
  void create_tables(Database& database) override {
    database.create_table({.name = "rows", .row_bytes = 8, .kind = IndexKind::kOrdered});
  }
  void load(Database&, uint32_t, uint32_t, Arena&) override {}
  Specification spec() const override { return {.description = "steps", .types = {{"step"}}}; }
  std::unique_ptr<Client> make_client(Database& database, uint32_t, uint32_t, uint64_t) override {
    return std::make_unique<Worker>(*this, database);
  }
  std::vector<Check> verify(Database&) override { return {}; }

  const Execute execute;
  const Key most;     // 0: no end
  uint32_t type = 0;  // of each transaction
};

Status insert(Transaction& txn, Table& table, Key step) { return txn.insert(table, step, step); }

RunResult run_steps(Steps workload, LogScheme& log, RunOptions options,
                    const ProtocolInfo& protocol = *find_protocol("occ")) {
  options.threads = 1;
  options.pin = false;
  Database database;
  load(workload, database, 1);
  return run(workload, database, protocol, log, options);
}

// --- the pipeline ---

TEST(Pipeline, AWorkerGoesOnUntilPipelineDepthIsExceeded) {
  constexpr uint32_t kTransactions = 1000;
  for (const uint32_t depth : {1u, 7u, 100u}) {
    uint64_t most = 0;  // the largest number of transactions in flight during a wait
    HeldLog log([&](HeldLog& held, uint64_t sequence) {
      most = std::max(most, held.last - held.durable.load());
      // When all transactions are logged, the worker waits only to drain the pipeline.
      held.durable.store(held.last == kTransactions ? held.last : sequence);
    });
    run_steps(Steps(insert), log,
              {.seconds = 3600, .transactions = kTransactions, .pipeline_depth = depth});
    EXPECT_EQ(most, depth + 1);
  }
}

TEST(Pipeline, ATransactionWorksBeforeItsFirstAccess) {
  HeldLog log([](HeldLog& held, uint64_t sequence) { held.durable.store(sequence); });
  constexpr uint64_t kWorkNs = 50'000'000, kTransactions = 3;
  const uint64_t begun_ns = platform::now_ns();
  uint64_t last_ns = 0;
  Steps workload([&](Transaction& txn, Table& table, Key step) {
    last_ns = platform::now_ns();
    EXPECT_GE(last_ns - begun_ns, (step + 1) * kWorkNs);
    return insert(txn, table, step);
  });
  run_steps(workload, log, {.seconds = 3600, .work_ns = kWorkNs, .transactions = kTransactions});
  EXPECT_GE(last_ns - begun_ns, kTransactions * kWorkNs);
}

// Runs steps with a log in which each wait takes 1 ms and makes all commits durable.
RunResult run_with_slow_waits(const RunOptions& options) {
  HeldLog log([](HeldLog& held, uint64_t) {
    platform::sleep_ns(1'000'000);
    held.durable.store(held.last);
  });
  return run_steps(Steps(insert), log, options);
}

TEST(Pipeline, AFullPipelineShowsInTheResult) {
  for (const uint32_t depth : {4u, ~0u}) {
    const RunResult result =
        run_with_slow_waits({.seconds = 3600, .transactions = 60, .pipeline_depth = depth});
    const double waited_ns = platform::ticks_to_ns(result.pipeline_wait_ticks);
    EXPECT_EQ(waited_ns > 0, depth == 4);
    EXPECT_LE(waited_ns, result.seconds * 1e9);
    EXPECT_FALSE(result.first_half) << "the run has no second half";
  }
}

TEST(WarmUp, EndsWhenItsLastPartIsSteadyOrAfterItsLongestTime) {
  const Watchdog watchdog("a warm-up does not end");
  bool first = true;
  HeldLog stalls_once([&](HeldLog& held, uint64_t) {
    platform::sleep_ns(first ? 100'000'000 : 1'000'000);
    first = false;
    held.durable.store(held.last);
  });
  const RunOptions options{.warmup_seconds = 0.02, .most_warmup_seconds = 3600, .seconds = 0.01};
  const RunResult late = run_steps(Steps(insert), stalls_once, options);
  EXPECT_GE(late.warmup_seconds, 0.1) << "nothing was acknowledged before";
  EXPECT_GT(late.seconds, 0);

  // Nothing is ever acknowledged, because the pipeline is never full.
  const RunResult never = run_with_slow_waits({.warmup_seconds = 0.01,
                                               .most_warmup_seconds = 0.05,
                                               .seconds = 0.01,
                                               .pipeline_depth = ~0u});
  EXPECT_GE(never.warmup_seconds, 0.04);
  EXPECT_GT(never.seconds, 0);
}

// The program compares the counts of both halves to decide whether the window was steady.
TEST(Pipeline, TheResultSaysHowManyWereExecutedAndHowManyAcknowledgedInEachHalf) {
  const Watchdog watchdog("a half of a run has no transactions");
  // In a very short half of a run, the operating system may not schedule the worker at all.
  for (double seconds = 0.1;; seconds *= 2) {
    const RunResult even = run_with_slow_waits({.seconds = seconds, .pipeline_depth = 1});
    EXPECT_NEAR(static_cast<double>(even.committed), static_cast<double>(even.transactions), 3);
    ASSERT_TRUE(even.first_half);
    EXPECT_LE(*even.first_half, even.transactions);
    if (*even.first_half > 0 && *even.first_half < even.transactions) break;
  }
  for (double seconds = 0.1;; seconds *= 2) {
    const RunResult backlog = run_with_slow_waits({.seconds = seconds, .pipeline_depth = ~0u});
    EXPECT_GE(backlog.committed, 2 * backlog.transactions);
    if (backlog.committed > 0) break;
  }
}

TEST(WorkloadMistakes, ATypeThatIsNotDeclaredIsNamed) {
  HeldLog log([](HeldLog& held, uint64_t) { held.durable.store(held.last); });
  Steps workload(insert, 9);
  workload.type = 1;
  EXPECT_DEATH(
      run_steps(workload, log, {.seconds = 3600}),
      "^logjam: next\\(\\) returned the type 1, and the number of types in spec\\(\\) is 1: "
      "steps\n");
}

TEST(WorkloadMistakes, AnInsertOfAPresentKeyDoesNotCommitUnnoticed) {
  HeldLog log([](HeldLog& held, uint64_t) { held.durable.store(held.last); });
  const auto inserts_twice = [](Transaction& txn, Table& table, Key step) {
    const Status first = txn.insert(table, step, step);
    return first == Status::kOk ? txn.insert(table, step, step) : first;
  };
  EXPECT_DEATH(run_steps(Steps(inserts_twice, 9), log, {.seconds = 3600}),
               "^logjam: execute\\(\\) returned kExists, and a transaction either commits ");
}

// --- reclamation ---

// The steps insert all rows, erase all rows, and then only read. At first no record becomes
// durable; later all records do.
TEST(ReclaimRun, ErasedRowsStayUntilTheyAreDurable) {
  constexpr Key kRows = 300;
  const auto entries = [](Table& table) {
    size_t count = 0;
    table.primary().for_each([&](Keyed*) { ++count; });
    return count;
  };
  for (const ProtocolInfo& protocol : all_protocols()) {
    SCOPED_TRACE(protocol.name);
    for (const CommitPolicy commit : {CommitPolicy::kPipelined, CommitPolicy::kAsync}) {
      HeldLog log([](HeldLog& held, uint64_t) { held.durable.store(held.last); });
      size_t held_back = 0, durable = kRows;
      Steps workload(
          [&](Transaction& txn, Table& table, Key step) {
            if (step < kRows) return insert(txn, table, step);
            if (step < 2 * kRows) return txn.erase(table, step - kRows);
            if (step == 3 * kRows) {
              held_back = entries(table);
              log.durable.store(log.last);
            }
            if (step == 4 * kRows) durable = entries(table);
            const uint64_t* nothing;
            return txn.read(table, step % kRows, &nothing);
          },
          4 * kRows + 1);
      run_steps(workload, log, {.seconds = 3600, .commit = commit, .pipeline_depth = 10 * kRows},
                protocol);
      EXPECT_EQ(held_back, kRows) << "some erases were not durable";
      EXPECT_EQ(durable, 0u);
    }
  }
}

// --- the time line ---

using Samples = std::vector<TimelineSample>;

template <class Member>
auto sum(const Samples& samples, const Member& member) {
  using Value = std::remove_cvref_t<decltype(std::invoke(member, samples[0]))>;
  return std::transform_reduce(samples.begin(), samples.end(), Value{}, std::plus<>(),
                               [&](const auto& sample) { return std::invoke(member, sample); });
}

// Runs YCSB with small transactions that write and often conflict. Returns the time line.
Samples samples_of_ycsb(const char* device, RunOptions options, RunResult* result) {
  ScopedFlags flags;
  flags.set("ycsb_records", 20);
  flags.set("ycsb_ratios", "read:0.5");
  flags.set("ycsb_ops", 2);
  Samples samples;
  options.pin = false;
  options.on_sample = [&](const TimelineSample& sample) { samples.push_back(sample); };
  const LogDirectory directory;
  Log log(log_options(*find_scheme("poplar"), directory, device, 4));
  log.start();
  const auto workload = find_workload("ycsb")->make();
  Database database;
  load(*workload, database, 1);
  *result = run(*workload, database, *find_protocol("occ"), log.scheme(), options);
  return samples;
}

TEST(TimelineOfARun, EveryEventIsInOneInterval) {
  for (const CommitPolicy commit :
       {CommitPolicy::kSync, CommitPolicy::kPipelined, CommitPolicy::kAsync}) {
    RunResult result;
    const Samples samples = samples_of_ycsb(
        "null",
        {.threads = 4, .seconds = 3600, .commit = commit, .transactions = 2000, .sample_ms = 1},
        &result);
    EXPECT_EQ(sum(samples, &TimelineSample::transactions), 8000u);
    for (const TimelineSample& sample : samples) {
      EXPECT_EQ(sample.transactions, sample.commit.count());
    }
    EXPECT_EQ(sum(samples, &TimelineSample::aborts), result.abort_count());
    EXPECT_EQ(sum(samples, &TimelineSample::log_bytes), result.log_bytes);
    EXPECT_GT(sum(samples, &TimelineSample::durable_bytes), 0u);
    EXPECT_EQ(samples.back().lag_bytes, 0u);
    EXPECT_EQ(samples.back().lag_ns, 0);
  }
}

TEST(TimelineOfARun, IntervalsFollowEachOtherAndNoneIsOfTwoPhases) {
  RunResult result;
  const Samples samples = samples_of_ycsb("sim:500",
                                          {.threads = 2,
                                           .warmup_seconds = 0.05,
                                           .seconds = 0.05,
                                           .commit = CommitPolicy::kSync,
                                           .sample_ms = 7},
                                          &result);
  ASSERT_TRUE(std::ranges::is_sorted(samples, {}, &TimelineSample::phase));
  for (const Phase phase : {Phase::kWarmup, Phase::kMeasure, Phase::kDrain}) {
    EXPECT_GT(std::ranges::count(samples, phase, &TimelineSample::phase), 0);
  }
  for (size_t i = 1; i < samples.size(); ++i) {
    if (samples[i].phase == Phase::kMeasure && samples[i - 1].phase == Phase::kWarmup) continue;
    EXPECT_NEAR(samples[i].time_seconds - samples[i].seconds, samples[i - 1].time_seconds, 1e-6);
  }
  const auto measured = std::ranges::find(samples, Phase::kMeasure, &TimelineSample::phase);
  EXPECT_NEAR(measured->time_seconds, measured->seconds, 1e-9) << "the measured phase begins at 0";
  const TimelineSample& first = samples.front();
  EXPECT_NEAR(first.time_seconds - first.seconds, -0.05, 1e-9) << "the warm-up is before it";
}

// The log stalls until three samples have shown the stall.
TEST(TimelineOfARun, ALogThatStallsShows) {
  for (const CommitPolicy commit : {CommitPolicy::kSync, CommitPolicy::kPipelined}) {
    HeldLog log([](HeldLog& held, uint64_t sequence) {
      while (held.durable.load() < sequence) platform::sleep_ns(1'000'000);
    });
    Samples samples;
    uint64_t stalled = 0;
    const auto on_sample = [&](const TimelineSample& sample) {
      samples.push_back(sample);
      if (sample.lag_ns > 0) ++stalled;
      // If 2000 samples show no lag, the test stops waiting and fails.
      if (stalled == 3 || samples.size() == 2000) log.durable.store(~uint64_t{0});
    };
    run_steps(Steps(insert), log,
              {.seconds = 3600,
               .commit = commit,
               .transactions = 50,
               .pipeline_depth = 100,
               .on_sample = on_sample,
               .sample_ms = 2});
    uint64_t seen = 0;
    double age = 0;
    for (const TimelineSample& sample : samples) {
      if (seen == 3) break;
      EXPECT_EQ(sample.transactions, 0u);
      if (sample.lag_ns == 0) continue;
      EXPECT_GT(sample.lag_ns, age) << "the same transaction, later";
      age = sample.lag_ns;
      ++seen;
    }
    EXPECT_EQ(seen, 3u);
    EXPECT_EQ(sum(samples, &TimelineSample::transactions), 50u);
    const auto slowest = std::ranges::max_element(
        samples, {}, [](const TimelineSample& sample) { return sample.commit.max(); });
    EXPECT_GE(platform::ticks_to_ns(slowest->commit.max()), age);
    EXPECT_EQ(samples.back().lag_ns, 0);
  }
}

}  // namespace
}  // namespace logjam
