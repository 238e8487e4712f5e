#include "platform/clock.h"

#include <time.h>

namespace logjam::platform {

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
    const uint64_t start_ns = now_ns(), start = ticks();
    sleep_ns(10'000'000);
    const uint64_t end_ns = now_ns(), end = ticks();
    return static_cast<double>(end_ns - start_ns) / static_cast<double>(end - start);
  }();
  return value;
}

}  // namespace logjam::platform
