// The explorer on programs of a few steps: the litmus tests of x86's memory (Owens, Sarkar and
// Sewell, TPHOLs 2009), programs that wait, and the rule that a seed determines the schedule.
#include "sim/explore/explorer.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <vector>

#include "tests/sim/explored_program.h"

namespace logjam::sim {
namespace {

TEST_F(ExplorerTest, StoreBufferingIsReachedAndNotWithFences) {
  uint64_t &x = shared_.x, &y = shared_.y;
  const auto program = [&](bool fences) {
    return std::vector<Body>{[&, fences] {
                               store(x, 1);
                               if (fences) before_fence();
                               r_[0] = load(y);
                             },
                             [&, fences] {
                               store(y, 1);
                               if (fences) before_fence();
                               r_[1] = load(x);
                             }};
  };
  const std::set<Outcome> all = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  const std::set<Outcome> in_order = {{0, 1}, {1, 0}, {1, 1}};
  EXPECT_EQ(outcomes(program(false), r_), all);
  EXPECT_EQ(outcomes(program(true), r_), in_order);
  EXPECT_EQ(outcomes(program(false), r_, false), in_order);
}

TEST_F(ExplorerTest, AReadModifyWriteIsAFence) {
  uint64_t &x = shared_.x, &y = shared_.y, &z = shared_.z;
  const std::set<Outcome> in_order = {{0, 1}, {1, 0}, {1, 1}};
  const auto around = outcomes({[&] {
                                  store(x, 1);
                                  exchange(z, 1);
                                  r_[0] = load(y);
                                },
                                [&] {
                                  store(y, 1);
                                  exchange(z, 1);
                                  r_[1] = load(x);
                                }},
                               r_);
  EXPECT_EQ(around, in_order);
  const auto itself = outcomes({[&] {
                                  exchange(x, 1);
                                  r_[0] = load(y);
                                },
                                [&] {
                                  exchange(y, 1);
                                  r_[1] = load(x);
                                }},
                               r_);
  EXPECT_EQ(itself, in_order);
}

TEST_F(ExplorerTest, MessagesPassInOrder) {
  uint64_t &x = shared_.x, &y = shared_.y;
  const auto all = outcomes({[&] {
                               store(x, 1);
                               store(y, 1);
                             },
                             [&] {
                               r_[0] = load(y);
                               r_[1] = load(x);
                             }},
                            r_);
  EXPECT_EQ(all, (std::set<Outcome>{{0, 0}, {0, 1}, {1, 1}}));
}

TEST_F(ExplorerTest, LoadsAreNotDelayedAfterStores) {
  uint64_t &x = shared_.x, &y = shared_.y;
  const auto all = outcomes({[&] {
                               r_[0] = load(x);
                               store(y, 1);
                             },
                             [&] {
                               r_[1] = load(y);
                               store(x, 1);
                             }},
                            r_);
  EXPECT_EQ(all, (std::set<Outcome>{{0, 0}, {0, 1}, {1, 0}}));
}

TEST_F(ExplorerTest, TwoReadersSeeTwoWritesInOneOrder) {
  uint64_t &x = shared_.x, &y = shared_.y;
  const auto all = outcomes({[&] { store(x, 1); }, [&] { store(y, 1); },
                             [&] {
                               r_[0] = load(x);
                               r_[1] = load(y);
                             },
                             [&] {
                               r_[2] = load(y);
                               r_[3] = load(x);
                             }},
                            r_);
  EXPECT_FALSE(all.contains({1, 0, 1, 0}));
  EXPECT_TRUE(all.contains({1, 0, 0, 1}));
  EXPECT_EQ(all.size(), 15u);
}

TEST_F(ExplorerTest, TwoWritersOfTwoWordsDoNotBothLose) {
  uint64_t &x = shared_.x, &y = shared_.y;
  std::set<Outcome> all;
  for (uint64_t seed = 1; seed <= 4000; ++seed) {
    shared_ = {};
    Explored::run(Explored::seeded(seed), {[&] {
                                             store(x, 1);
                                             store(y, 2);
                                           },
                                           [&] {
                                             store(y, 1);
                                             store(x, 2);
                                           }});
    all.insert({x, y});
  }
  EXPECT_EQ(all, (std::set<Outcome>{{1, 2}, {2, 1}, {2, 2}}));
}

// The litmus test n6: a thread sees its own store before other threads see this store.
TEST_F(ExplorerTest, AThreadSeesItsOwnStoreBeforeItIsVisible) {
  uint64_t &x = shared_.x, &y = shared_.y;
  std::set<Outcome> all;
  for (uint64_t seed = 1; seed <= 4000; ++seed) {
    shared_ = {};
    r_ = {};
    Explored::run(Explored::seeded(seed), {[&] {
                                             store(x, 1);
                                             r_[0] = load(x);
                                             r_[1] = load(y);
                                           },
                                           [&] {
                                             store(y, 2);
                                             store(x, 2);
                                           }});
    all.insert({r_[0], r_[1], x});
  }
  EXPECT_TRUE(all.contains({1, 0, 1}));
  EXPECT_FALSE(all.contains({2, 0, 1}));
}

// Each increment is a load and a store. Without a lock an increment may be lost.
TEST_F(ExplorerTest, ASpinLockKeepsIncrements) {
  uint64_t &lock = shared_.x, &count = shared_.y;
  std::set<uint64_t> locked, unlocked;
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    shared_ = {};
    const Body racing = [&] { store(count, load(count) + 1); };
    Explored::run(Explored::seeded(seed), {racing, racing, racing});
    unlocked.insert(count);
    shared_ = {};
    const Body safe = [&] {
      while (exchange(lock, 1) != 0) kernel().pause();
      store(count, load(count) + 1);
      store(lock, 0);
    };
    const auto explored = Explored::run(Explored::seeded(seed), {safe, safe, safe});
    EXPECT_LT(explored.steps, 2000u) << "a spin lasts until the lock changes";
    locked.insert(count);
  }
  EXPECT_EQ(unlocked, (std::set<uint64_t>{1, 2, 3}));
  EXPECT_EQ(locked, (std::set<uint64_t>{3}));
}

TEST_F(ExplorerTest, ASeedIsASchedule) {
  uint64_t &x = shared_.x, &y = shared_.y;
  std::map<uint64_t, uint64_t> hashes;
  for (int round = 0; round < 2; ++round) {
    for (uint64_t seed = 1; seed <= 50; ++seed) {
      shared_ = {};
      const Body body = [&] {
        for (int i = 0; i < 20; ++i) store(x, load(y) + 1), store(y, load(x) + 1);
      };
      const auto explored = Explored::run(Explored::seeded(seed), {body, body});
      const auto [at, first] = hashes.emplace(seed, explored.hash);
      EXPECT_EQ(at->second, explored.hash) << seed;
      EXPECT_EQ(first, round == 0);
    }
  }
  std::set<uint64_t> different;
  for (const auto& [seed, hash] : hashes) different.insert(hash);
  EXPECT_GT(different.size(), 15u) << "many orders give long turns, and so the same schedule";
}

TEST_F(ExplorerTest, ASleeperWakesAtItsTimeOrEarlier) {
  uint64_t& x = shared_.x;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    shared_ = {};
    Explored::run(Explored::seeded(seed), {[&] {
                                             const Picoseconds begin = kernel().now();
                                             kernel().sleep(1'000'000'000);
                                             EXPECT_GE(kernel().now(), begin + 1'000'000'000);
                                             store(x, 1);
                                           },
                                           [&] {
                                             while (load(x) == 0) kernel().pause();
                                           }});
    EXPECT_EQ(x, 1u);
  }
}

}  // namespace
}  // namespace logjam::sim
