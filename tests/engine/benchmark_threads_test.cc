#include "engine/run/benchmark_threads.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

namespace logjam {
namespace {

// Ends when it is told to, or at once.
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

// Returns the numbers of the two readings, from 1 on, and how many there were.
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

TEST(BenchmarkThreads, TheWarmUpIsNotMeasured) {
  EXPECT_EQ(readings(0.01, 0.01), (std::array<int, 3>{2, 3, 3}));
}

TEST(BenchmarkThreads, WithoutAWarmUpTheMeasuredTimeBeginsWithTheThreads) {
  EXPECT_EQ(readings(0, 0.01), (std::array<int, 3>{1, 2, 2}));
}

TEST(BenchmarkThreads, ThreadsThatHaveDoneAllEndTheMeasuredTime) {
  EXPECT_EQ(readings(0, 1e6, true), (std::array<int, 3>{1, 2, 2}));
}

}  // namespace
}  // namespace logjam
