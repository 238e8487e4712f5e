// The Lamport clock of a log alone (Aether, 7.3.3).
#include "logging/schemes/aether/gsn_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace logjam {
namespace {

TEST(GsnClockTest, ANumberIsLargerThanTheClockAndThanWhatItDependsOn) {
  GsnClock clock;
  EXPECT_GT(clock.next(0), 0u);
  EXPECT_GT(clock.next(100), 100u);
  const uint64_t last = clock.now();
  EXPECT_GT(clock.next(3), last) << "for a number that the clock has passed";
  EXPECT_GT(clock.next(clock.now()), last) << "depends on the clock's own number";
  clock.raise(1000);
  EXPECT_GT(clock.next(0), 1000u);
}

TEST(GsnClockTest, ThreadsThatDrawAtOnceGetDifferentNumbersAboveTheirDependencies) {
  constexpr uint64_t kThreads = 4, kTimes = 20'000;
  GsnClock clock;
  std::vector<std::vector<uint64_t>> numbers(kThreads);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < kTimes; ++i) {
        // Often ahead of the clock: the clock is raised.
        const uint64_t depends_on = i % 3 == t % 3 ? clock.now() + 5 : i;
        const uint64_t number = clock.next(depends_on);
        EXPECT_GT(number, depends_on);
        EXPECT_TRUE(numbers[t].empty() || number > numbers[t].back());
        numbers[t].push_back(number);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::vector<uint64_t> all;
  for (const auto& one : numbers) all.insert(all.end(), one.begin(), one.end());
  std::ranges::sort(all);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end()) << "two threads drew one number";
}

}  // namespace
}  // namespace logjam
