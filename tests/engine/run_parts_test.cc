// The parts of a run, each tested alone: arrivals, threads, the breakdown of a worker's time,
// histograms, the pipeline of commits, the memory guard, and the reasons why a window is unsteady.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "engine/run/arrivals.h"
#include "engine/run/benchmark_threads.h"
#include "engine/run/commit_pipeline.h"
#include "engine/run/memory_guard.h"
#include "engine/run/steadiness.h"
#include "engine/stats/breakdown.h"
#include "engine/stats/histogram.h"

namespace logjam {
namespace {

// --- arrivals ---

// Transactions arrive at 40,000 per second for four workers: every 100 us at each worker.
RunOptions open_loop() {
  RunOptions options;
  options.threads = 4;
  options.rates = {{.from_seconds = 0, .per_second = 40'000}};
  return options;
}

TEST(Arrivals, AWorkerHasItsShareOfTheRateAtExponentialDistances) {
  EXPECT_FALSE(Arrivals(RunOptions{}).open());
  constexpr int kArrivals = 100'000;
  const RunOptions options = open_loop();
  Arrivals arrivals(options);
  std::mt19937_64 random(1);
  arrivals.begin(1000, random());
  uint64_t last = 1000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kArrivals; ++i) {
    const double us = 1e-3 * platform::ticks_to_ns(arrivals.next() - last);
    sum += us;
    squares += us * us;
    last = arrivals.next();
    EXPECT_EQ(arrivals.take(random()), last);
  }
  EXPECT_NEAR(sum / kArrivals, 100, 1);
  EXPECT_NEAR(squares / kArrivals, 2 * 100 * 100, 600);  // the mean square of exponential distances
}

TEST(Arrivals, AClientsOwnTimesCountFromTheBegin) {
  const std::vector<uint64_t> times_ns = {0, 5000, 5000, 90'000};
  const RunOptions options;
  Arrivals arrivals(options, times_ns);
  EXPECT_TRUE(arrivals.open());
  arrivals.begin(1000, 1);
  const auto at = [](double ns) { return 1000 + platform::ns_to_ticks(ns); };
  EXPECT_EQ(arrivals.take(1), at(0));
  EXPECT_EQ(arrivals.next(), at(5000));
  std::vector<uint64_t> visited;
  const auto visit = [&](uint64_t arrival, uint64_t count) {
    EXPECT_EQ(count, 1u);
    visited.push_back(arrival);
  };
  EXPECT_EQ(arrivals.visit_until(at(89'000), visit), 2u);
  EXPECT_EQ(visited, (std::vector{at(5000), at(5000)}));
  EXPECT_EQ(arrivals.visit_until(at(1e9), visit), 3u);
  for (const double ns : {5000., 5000., 90'000.}) EXPECT_EQ(arrivals.take(1), at(ns));
  EXPECT_EQ(arrivals.visit_until(~uint64_t{0} - 1, visit), 0u) << "after the last one none comes";
}

// Two rates with a pause between them. The test counts the arrivals of each second.
TEST(Arrivals, TheRateFollowsItsSteps) {
  RunOptions options;
  options.threads = 2;
  options.warmup_seconds = 1;
  options.rates = {{0, 20'000}, {1, 0}, {2, 80'000}, {3, 0}};
  Arrivals arrivals(options);
  std::mt19937_64 random(1);
  const uint64_t begin = 1'000'000;
  arrivals.begin(begin, random());
  const auto second = [&](double seconds) { return begin + platform::ns_to_ticks(seconds * 1e9); };
  std::vector<int> counted(5);
  while (arrivals.next() < second(5)) {
    const double ns = platform::ticks_to_ns(arrivals.next() - begin);
    ++counted[static_cast<size_t>(ns * 1e-9)];
    arrivals.take(random());
  }
  EXPECT_NEAR(counted[0], 10'000, 400);  // the warm-up has the first rate
  EXPECT_NEAR(counted[1], 10'000, 400);
  EXPECT_EQ(counted[2], 0);
  EXPECT_NEAR(counted[3], 40'000, 800);
  EXPECT_EQ(counted[4], 0);
  const ArrivalRate& rate = *arrivals.rate();
  EXPECT_NEAR(rate.between(second(1.5), second(3.25)), 5'000 + 10'000, 2);
  EXPECT_EQ(rate.between(second(2), second(1)), 0);
  EXPECT_NEAR(static_cast<double>(rate.after(second(1.5), 5'000 + 10'000)),
              static_cast<double>(second(3.25)), 1e6);
}

TEST(Arrivals, VisitsThoseUpToTheEndAtEqualDistances) {
  const RunOptions options = open_loop();
  Arrivals arrivals(options);
  arrivals.begin(0, ~uint64_t{0});  // makes the distance between arrivals as short as possible
  const uint64_t first = arrivals.next();
  const auto ignore = [](uint64_t, uint64_t) {};
  EXPECT_EQ(first == 0 ? 0u : arrivals.visit_until(first - 1, ignore), 0u);
  for (const uint64_t all : {1u, 10u, 1'000'000u}) {
    const uint64_t end = first + platform::ns_to_ticks(1e5 * (static_cast<double>(all) - 0.5));
    uint64_t visited = 0, visits = 0, last = 0;
    const auto visit = [&](uint64_t arrival, uint64_t count) {
      EXPECT_GE(arrival, last);
      EXPECT_LE(arrival, end);
      last = arrival;
      visited += count;
      ++visits;
    };
    EXPECT_EQ(arrivals.visit_until(end, visit), all);
    EXPECT_EQ(visited, all);
    EXPECT_LE(visits, 1u << 16);
    EXPECT_NEAR(static_cast<double>(last), static_cast<double>(end),
                static_cast<double>(platform::ns_to_ticks(1e5 * 20)));
  }
}

// --- benchmark threads ---

// The body of a thread. If `at_once` is true, the thread ends immediately. Otherwise the thread
// ends when `control.stop` is set.
struct Caller {
  Caller(BenchmarkControl& control, bool at_once) : control(control), at_once(at_once) {}
  void run() {
    control.gate.made_and_await_start();
    while (!at_once && !control.stop.load()) platform::sleep_ns(1'000'000);
    control.ended.fetch_add(1);
  }

  BenchmarkControl& control;
  const bool at_once;
};

// run_benchmark() calls a function that numbers its calls from 1. Returns the number of the call at
// the window's begin, of the call at the window's end, and the count of all calls.
std::array<int, 3> readings(double warmup_seconds, double seconds, bool at_once = false) {
  BenchmarkControl control;
  std::vector<std::unique_ptr<Caller>> callers;
  for (int i = 0; i < 3; ++i) callers.push_back(std::make_unique<Caller>(control, at_once));
  int readings = 0;
  const auto [before, after] =
      run_benchmark(callers, control, warmup_seconds, seconds, [&] { return ++readings; });
  EXPECT_EQ(control.ended.load(), 3u);
  return {before, after, readings};
}

TEST(BenchmarkThreads, TheMeasuredTimeBeginsAfterTheWarmUpAndEndsWithTheThreads) {
  EXPECT_EQ(readings(0.01, 0.01), (std::array<int, 3>{2, 3, 3}));
  EXPECT_EQ(readings(0, 0.01), (std::array<int, 3>{1, 2, 2})) << "no warm-up";
  EXPECT_EQ(readings(0, 1e6, true), (std::array<int, 3>{1, 2, 2})) << "all threads have ended";
}

// --- the breakdown of a worker's time ---

uint64_t charged(const Breakdown& breakdown, Activity activity) {
  return breakdown.sampled_ticks()[static_cast<size_t>(activity)];
}

uint64_t later(uint64_t than) {
  while (platform::ticks() <= than) {
  }
  return platform::ticks();
}

TEST(BreakdownTest, ManyWorkersOfOneTransactionEachAreSampled) {
  uint64_t sampled = 0;
  for (uint64_t worker = 0; worker < 3 * Breakdown::kSampleEvery; ++worker) {
    Breakdown breakdown(true, worker);
    breakdown.start_transaction();
    later(platform::ticks());
    breakdown.start_transaction();
    sampled += std::ranges::any_of(breakdown.sampled_ticks(), [](uint64_t t) { return t != 0; });
  }
  EXPECT_EQ(sampled, 3U);
}

TEST(MeasuredWindow, OfAWaitOnlyThePartInTheWindowCounts) {
  MeasuredWindow window;
  EXPECT_EQ(window.part(0, 1000), 0u) << "nothing is measured yet";
  window.begin(100);
  EXPECT_EQ(window.part(40, 90), 0u);
  EXPECT_EQ(window.part(40, 130), 30u);
  EXPECT_EQ(window.part(150, 170), 20u);
  window.end(200);
  EXPECT_EQ(window.part(40, 1000), 100u);
  EXPECT_EQ(window.part(190, 1000), 10u);
  EXPECT_EQ(window.part(201, 1000), 0u);
}

// The sample begins before the window and ends after it.
TEST(BreakdownTest, OfASampleOnlyThePartInTheWindowCounts) {
  MeasuredWindow window;
  Breakdown breakdown(true, Breakdown::kSampleEvery - 1, &window);
  breakdown.start_transaction();
  breakdown.enter(Activity::kFlushWait);
  const uint64_t begin = later(platform::ticks());
  window.begin(begin);
  const uint64_t end = later(begin);
  window.end(end);
  later(end);
  breakdown.enter(Activity::kWork);
  breakdown.stop();
  for (size_t i = 0; i < breakdown.sampled_ticks().size(); ++i) {
    const bool waited = i == static_cast<size_t>(Activity::kFlushWait);
    EXPECT_EQ(breakdown.sampled_ticks()[i], waited ? end - begin : 0) << i;
  }
}

// Waits are timed in all transactions. The breakdown multiplies times by kSampleEvery, because its
// other times come from samples. So it divides each wait by kSampleEvery first.
TEST(SpaceWaitTest, WaitsOfTransactionsThatAreNoSampleCount) {
  Breakdown breakdown(true);
  for (uint64_t i = 1; i < Breakdown::kSampleEvery; ++i) {
    breakdown.start_transaction();
    breakdown.waited_for_space(1000 * Breakdown::kSampleEvery);
  }
  EXPECT_EQ(charged(breakdown, Activity::kSpaceWait), 1000 * (Breakdown::kSampleEvery - 1));
}

TEST(SpaceWaitTest, WaitsOfASampleAreNotCountedTwice) {
  Breakdown breakdown(true);
  for (uint64_t i = 0; i < Breakdown::kSampleEvery; ++i) breakdown.start_transaction();
  const uint64_t before = platform::ticks();
  breakdown.enter(Activity::kLogContention);
  const uint64_t begin = platform::ticks();
  platform::sleep_ns(20'000'000);
  const uint64_t waited = platform::ticks() - begin;
  breakdown.waited_for_space(waited);
  breakdown.enter(Activity::kWork);
  const uint64_t all = platform::ticks() - before;
  EXPECT_EQ(charged(breakdown, Activity::kSpaceWait), waited / Breakdown::kSampleEvery);
  EXPECT_LE(charged(breakdown, Activity::kLogContention), all - waited);
}

// --- histograms ---

HistogramSum sum_of(const std::vector<const Histogram*>& histograms) {
  HistogramSum sum;
  for (const Histogram* histogram : histograms) sum.add(*histogram);
  return sum;
}

TEST(Histogram, RelativeErrorIsAtMostOnePercent) {
  for (int bits = 0; bits < 63; ++bits) {
    for (uint64_t offset : {uint64_t{0}, uint64_t{1}, (uint64_t{1} << bits) / 3}) {
      const uint64_t value = (uint64_t{1} << bits) + offset;
      Histogram histogram;
      histogram.record(value);
      histogram.record(~uint64_t{0});  // the maximum, which is stored exactly
      const auto found = static_cast<double>(sum_of({&histogram}).percentile(0.5));
      EXPECT_NEAR(found, static_cast<double>(value), static_cast<double>(value) * 0.01) << value;
    }
  }
}

TEST(Histogram, PercentilesMatchASortedList) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> durations(10, 2);
  Histogram halves[2];
  std::vector<uint64_t> all;
  for (int i = 0; i < 20'000; ++i) {
    all.push_back(static_cast<uint64_t>(durations(random)));
    halves[i % 2].record(all.back());
  }
  std::ranges::sort(all);
  const HistogramSum sum = sum_of({&halves[0], &halves[1]});
  EXPECT_EQ(sum.count(), all.size());
  EXPECT_EQ(sum.max(), all.back());
  for (double fraction : {0.01, 0.5, 0.95, 0.99, 0.999, 1.0}) {
    const auto exact = static_cast<double>(
        all[static_cast<size_t>(std::ceil(fraction * static_cast<double>(all.size()))) - 1]);
    EXPECT_NEAR(static_cast<double>(sum.percentile(fraction)), exact, exact * 0.01 + 1) << fraction;
  }
}

TEST(Histogram, SinceGivesTheValuesRecordedInBetween) {
  Histogram histogram;
  histogram.record(10, 100);
  const HistogramSum before = sum_of({&histogram});
  histogram.record(5000, 10);
  const HistogramSum between = sum_of({&histogram}).since(before);
  EXPECT_EQ(between.count(), 10u);
  EXPECT_NEAR(static_cast<double>(between.percentile(0.5)), 5000, 50);
  EXPECT_EQ(HistogramSum().percentile(0.99), 0u);
}

// --- the pipeline of commits ---

struct Commit {
  CommitPoint point;
  uint64_t start = 0;
};

// A log with two queues. Each queue has a number up to which its commit points are durable.
struct TwoQueues {
  bool is_durable(const CommitPoint& point) const { return point.sequence <= durable[point.queue]; }
  void wait_durable(uint32_t worker, const CommitPoint& point) {
    EXPECT_EQ(worker, 5u);
    durable[point.queue] = point.sequence;
  }
  uint64_t durable[CommitPoint::kQueues] = {};
};

using Sequences = std::vector<uint64_t>;

class CommitPipelineTest : public testing::Test {
 protected:
  void push(uint64_t sequence, uint8_t queue) {
    pipeline_.push({CommitPoint::in_stream(0, sequence, queue), 100 + sequence});
  }
  // Returns the sequence numbers of the commits that are durable now.
  Sequences acknowledged() {
    Sequences sequences;
    const bool any = pipeline_.acknowledge_durable(
        [&](const Commit& commit) { sequences.push_back(commit.point.sequence); });
    EXPECT_EQ(any, !sequences.empty());
    return sequences;
  }

  TwoQueues log_;
  CommitPipeline<TwoQueues, Commit> pipeline_{log_, 5, 2};
};

TEST_F(CommitPipelineTest, AcknowledgesEachQueueInOrderUpToTheFirstThatIsNotDurable) {
  EXPECT_EQ(pipeline_.oldest_start(), 0u);
  for (const uint64_t sequence : {1, 4, 6}) push(sequence, 0);
  push(2, 1);
  EXPECT_EQ(pipeline_.oldest_start(), 101u);
  EXPECT_EQ(acknowledged(), Sequences{});
  log_.durable[1] = 2;
  EXPECT_EQ(acknowledged(), Sequences{2});
  log_.durable[0] = 5;
  EXPECT_EQ(acknowledged(), (Sequences{1, 4}));
  EXPECT_FALSE(pipeline_.empty());
  push(3, 1);
  EXPECT_EQ(pipeline_.oldest_start(), 103u);
  log_.durable[0] = 6;
  log_.durable[1] = 3;
  EXPECT_EQ(acknowledged(), (Sequences{6, 3}));
  EXPECT_TRUE(pipeline_.empty());
}

TEST_F(CommitPipelineTest, IsTooFullAboveItsDepthAndThenWaitsForTheLongestQueue) {
  push(1, 0);
  push(2, 1);
  EXPECT_FALSE(pipeline_.too_full());
  push(3, 1);
  EXPECT_TRUE(pipeline_.too_full());
  EXPECT_EQ(pipeline_.next().sequence, 2u);
  pipeline_.wait();
  EXPECT_EQ(acknowledged(), Sequences{2});
  EXPECT_FALSE(pipeline_.too_full());
}

// --- memory ---

// A run calls the guard every 20 ms.
TEST(MemoryGuard, SeesMemoryGoAtAGigabyteASecondBeforeItIsGone) {
  constexpr uint64_t kLeast = uint64_t{256} << 20, kStepNs = 20'000'000;
  for (uint64_t had = uint64_t{1} << 30; had < uint64_t{1100} << 20; had += 7'654'321) {
    uint64_t now = 1, left = had;
    MemoryGuard guard(kLeast, [&left] { return left; });
    while (!guard.hardly_any_left(now)) {
      ASSERT_GT(left, kLeast * 3 / 4);
      now += kStepNs;
      left -= kStepNs;  // 1 byte per ns
    }
    EXPECT_LT(left, kLeast);
  }
}

TEST(ExpectedGrowth, NoMoreTransactionsInsertThanAreCountedOrOffered) {
  RunOptions options;
  options.threads = 2;
  options.warmup_seconds = 1;
  options.seconds = 3;
  EXPECT_EQ(expected_growth(1e8, options), 4e8);
  options.most_warmup_seconds = 2;
  EXPECT_EQ(expected_growth(1e8, options), 5e8);
  options.most_warmup_seconds = 0;
  options.rates = {{.from_seconds = 0, .per_second = 1000}};
  EXPECT_EQ(expected_growth(1e8, options), 4 * 1000 / 2 * 4096.0);
  options.transactions = 100;
  EXPECT_EQ(expected_growth(1e8, options), 100 * 4096.0);
  options.transactions = 0;
  options.rates = {{.from_seconds = 0, .per_second = 1e9}};
  EXPECT_EQ(expected_growth(1e8, options), 4e8);
}

// --- steadiness ---

TEST(Steadiness, AWindowIsUnsteadyForAReasonThatChanceDoesNotExplain) {
  const auto why = [](const std::function<void(Window&)>& change) {
    Window window{.committed = 100'000,
                  .acknowledged = 100'100,
                  .with_latency = 100'100,
                  .first_half = 49'000,
                  .seconds = 0.003,
                  .commit_p99_seconds = 0.0005};
    change(window);
    return why_unsteady(window);
  };
  EXPECT_EQ(why([](Window&) {}), "");
  EXPECT_EQ(why([](Window& w) { w.committed = 78'000; }), "78000 executed, 100100 acknowledged");
  EXPECT_EQ(why([](Window& w) { w.committed = 106'000; }), "106000 executed, 100100 acknowledged");
  EXPECT_EQ(why([](Window& w) { w.commit_p99_seconds = 0.0011; }),
            "p99 above a third of the window");
  EXPECT_EQ(why([](Window& w) { w.first_half = 47'000; }),
            "47000 acknowledged in the first half, 53100 in the second");
  EXPECT_EQ(why([](Window& w) { w.first_half.reset(); }), "") << "the phase ended early";
  EXPECT_EQ(why([](Window& w) { w.with_latency = 120'000; }),
            "latencies of 120000 transactions, throughput of 100100");
  EXPECT_EQ(why_unsteady({.committed = 7, .seconds = 1}),
            "no transaction was acknowledged in the window");
  EXPECT_EQ(why_unsteady({.seconds = 1}), "no transaction was acknowledged in the window");
  const Window few{
      .committed = 30, .acknowledged = 24, .with_latency = 30, .first_half = 9, .seconds = 1};
  EXPECT_EQ(why_unsteady(few), "");
}

}  // namespace
}  // namespace logjam
