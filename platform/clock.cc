#include "platform/clock.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "platform/assert.h"

namespace logjam::platform {
namespace {

constexpr size_t kIntervals = 5;
constexpr uint64_t kIntervalNs = 5'000'000;

}  // namespace

uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

void sleep_ns(uint64_t ns) {
  timespec t{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &t, nullptr);
}

double ns_per_tick() {
  static const double value = [] {
    std::array<ClockInterval, kIntervals> intervals;
    for (ClockInterval& interval : intervals) {
      const uint64_t start_ns = now_ns(), start = ticks();
      sleep_ns(kIntervalNs);
      const uint64_t end_ns = now_ns(), end = ticks();
      interval = {end_ns - start_ns, end - start};
    }
    return median_ns_per_tick(intervals);
  }();
  return value;
}

double median_ns_per_tick(std::span<const ClockInterval> intervals) {
  LJ_ASSERT(!intervals.empty());
  std::vector<double> ratios;
  for (const ClockInterval& interval : intervals) {
    ratios.push_back(static_cast<double>(interval.ns) / static_cast<double>(interval.ticks));
  }
  const auto middle = ratios.begin() + static_cast<ptrdiff_t>(ratios.size() / 2);
  std::ranges::nth_element(ratios, middle);
  return *middle;
}

}  // namespace logjam::platform
