#include "sim/explore/search.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "tests/sim/explored_program.h"

namespace logjam::sim {
namespace {

using SearchTest = ExplorerTest;

TEST_F(SearchTest, MeetsEveryOutcomeOfStoreBuffering) {
  uint64_t &x = shared_.x, &y = shared_.y;
  const auto outcomes_of = [&](bool fences) {
    std::set<Outcome> all;
    const auto side = [&, fences](uint64_t& mine, uint64_t& other, uint64_t& r) {
      return [&, fences] {
        store(mine, 1);
        if (fences) before_fence();
        r = load(other);
      };
    };
    const uint64_t schedules = search(
        2,
        [&] {
          shared_ = {};
          r_ = {};
          return std::vector<Body>{side(x, y, r_[0]), side(y, x, r_[1])};
        },
        [&] { all.insert(r_); });
    EXPECT_GT(schedules, 10u);
    return all;
  };
  EXPECT_EQ(outcomes_of(false), (std::set<Outcome>{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  EXPECT_EQ(outcomes_of(true), (std::set<Outcome>{{0, 1}, {1, 0}, {1, 1}}));
}

// Each of two threads loads, increments and stores a word. One preemption may lose an increment.
TEST_F(SearchTest, TakesNoMorePreemptionsThanItMay) {
  uint64_t& x = shared_.x;
  const Body increments = [&] { store(x, load(x) + 1); };
  for (const uint32_t preemptions : {0u, 1u}) {
    std::set<uint64_t> sums;
    search(
        preemptions,
        [&] {
          x = 0;
          return std::vector<Body>{increments, increments};
        },
        [&] { sums.insert(x); });
    EXPECT_EQ(sums.contains(1), preemptions > 0);
    EXPECT_TRUE(sums.contains(2));
  }
}

// A thread that has yielded continues only after another thread has stored a value.
TEST_F(SearchTest, AYieldEndsAfterAnyStoreOfAnotherThread) {
  uint64_t& x = shared_.x;
  std::set<uint64_t> seen;
  search(
      1,
      [&] {
        x = 0;
        const Body yields = [&] {
          kernel().yield();
          r_[0] = load(x);
        };
        const Body stores = [&] { exchange(x, 1), exchange(x, 2); };
        return std::vector<Body>{yields, stores};
      },
      [&] { seen.insert(r_[0]); });
  EXPECT_EQ(seen, (std::set<uint64_t>{1, 2}));
}

}  // namespace
}  // namespace logjam::sim
