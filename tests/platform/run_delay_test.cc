#include "platform/run_delay.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "platform/clock.h"

namespace logjam::platform {
namespace {

// Two threads on one core: each waits while the other has it.
TEST(RunDelay, IsTheTimeInWhichAnotherThreadHasTheCore) {
  if (!RunDelay::counted()) GTEST_SKIP() << "this kernel counts no run delays";
  RunDelay delay;
  cpu_set_t before, one;
  sched_getaffinity(0, sizeof before, &before);
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
    if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
  }
  std::atomic<int> started{0}, running{2};
  const auto work = [&] {
    sched_setaffinity(0, sizeof one, &one);
    delay.add_this_thread();
    started.fetch_add(1);
    while (started.load() < 2) sched_yield();
    const uint64_t end = now_ns() + 200'000'000;
    while (now_ns() < end) {
    }
    running.fetch_sub(1);
    while (running.load() > 0) sched_yield();
  };
  std::thread first(work), second(work);
  uint64_t seen = 0;
  while (running.load() > 0) {
    seen = std::max(seen, delay.ns());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  first.join();
  second.join();
  // Both want the core for 200 ms, in which one can have it: the other half is delay.
  EXPECT_GT(seen, 20'000'000U);
  EXPECT_EQ(delay.ns(), 0) << "threads that have ended count no more";
}

}  // namespace
}  // namespace logjam::platform
