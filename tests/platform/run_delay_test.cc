#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "platform/cpu_use.h"

namespace logjam::platform {
namespace {

// Returns the second number that the kernel counts for this thread; the first is its processor
// time.
uint64_t counted_by_the_kernel() {
  std::ifstream file("/proc/thread-self/schedstat");
  uint64_t ran = 0, waited = 0;
  file >> ran >> waited;
  return waited;
}

TEST(RunDelay, IsWhatTheKernelCountsForTheAddedThreads) {
  if (!RunDelay::counted()) GTEST_SKIP() << "this kernel counts no run delays";
  RunDelay delay;
  EXPECT_EQ(delay.ns(), 0) << "no thread was added";
  delay.add_this_thread();
  for (int i = 0; i < 1000; ++i) {
    const uint64_t before = counted_by_the_kernel();
    const uint64_t now = delay.ns();
    ASSERT_LE(before, now);
    ASSERT_LE(now, counted_by_the_kernel());
  }
}

TEST(RunDelay, OfAThreadThatHasEndedCountsNoMore) {
  RunDelay delay;
  std::thread([&] { delay.add_this_thread(); }).join();
  EXPECT_EQ(delay.ns(), 0);
}

}  // namespace
}  // namespace logjam::platform
