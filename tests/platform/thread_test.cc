#include "platform/thread.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <vector>

namespace logjam::platform {
namespace {

// Returns the cores of `threads` threads that are pinned one after another.
std::vector<int> cores_of_pinned(int threads) {
  std::vector<int> cores;
  for (int i = 0; i < threads; ++i) {
    thread([&, i] {
      pin_to_core(i);
      cores.push_back(sched_getcpu());
    }).join();
  }
  return cores;
}

TEST(Thread, PinnedThreadsBeginAtTheFirstCoreAndGoRoundInACircle) {
  const std::vector<int> usual = cores_of_pinned(core_count());
  for (size_t first = 0; first < usual.size(); ++first) {
    ASSERT_TRUE(count_cores_from(usual[first]));
    std::vector<int> expected = usual;
    std::rotate(expected.begin(), expected.begin() + static_cast<ptrdiff_t>(first), expected.end());
    EXPECT_EQ(cores_of_pinned(core_count()), expected);
  }
  EXPECT_FALSE(count_cores_from(1 << 20));
  ASSERT_TRUE(count_cores_from(usual[0]));
}

}  // namespace
}  // namespace logjam::platform
