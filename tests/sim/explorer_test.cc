// The explorer on programs of a few steps: the litmus tests of x86's memory (Owens, Sarkar and
// Sewell, TPHOLs 2009), waiting, crashes, and that a seed is a schedule.
#include "sim/explorer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "sim/charge.h"
#include "sim/region.h"
#include "sim/store_buffer.h"
#include "tests/sim/small_machine.h"

namespace logjam::sim {
namespace {

using Body = std::function<void()>;

// The tests' code is not instrumented, so each access says what it is.
uint64_t load(const uint64_t& at) {
  before_atomic_load(nullptr, &at);
  return at;
}
void store(uint64_t& at, uint64_t value) {
  before_atomic_store(nullptr, &at, sizeof at, false);
  at = value;
}
uint64_t exchange(uint64_t& at, uint64_t value) {
  before_read_modify_write(nullptr, &at);
  return std::exchange(at, value);
}

// Words that threads share, each in a line of its own.
struct Shared {
  alignas(kLineBytes) uint64_t x = 0;
  alignas(kLineBytes) uint64_t y = 0;
  alignas(kLineBytes) uint64_t z = 0;
};

// Runs programs under the explorer, one after the other.
class Explored {
 public:
  // Runs the bodies side by side. Returns how the schedule went.
  static platform::Explored run(platform::Schedule schedule, const std::vector<Body>& bodies) {
    if (!schedule.ended) {
      schedule.ended = [](const platform::Explored& explored) {
        std::fprintf(stderr, "found: %s\n", explored.what.c_str());
        _exit(7);
      };
    }
    Explorer explorer(schedule);
    put_kernel(&explorer);
    explorer.begin();
    std::vector<Fiber*> fibers;
    for (const Body& body : bodies) fibers.push_back(explorer.spawn(body));
    for (Fiber* fiber : fibers) explorer.join(fiber);
    explorer.end();
    put_kernel(nullptr);
    return explorer.result();
  }

  static platform::Schedule seeded(uint64_t seed) {
    platform::Schedule schedule;
    schedule.seed = seed;
    return schedule;
  }
};

class ExplorerTest : public testing::Test {
 protected:
  ExplorerTest() : shared_(*new (page()) Shared) {}

  static void* page() {
    line_of_new_page();  // maps the region
    return take(kPageBytes, kPageBytes, 0);
  }

  using Outcome = std::array<uint64_t, 4>;
  // Runs the program under many seeds. `outcome` reads what is left of it, and of memory.
  std::set<Outcome> outcomes(const std::vector<Body>& bodies, Outcome& registers,
                             bool late_stores = true) {
    constexpr uint64_t kSeeds = 4000;
    std::set<Outcome> all;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      shared_ = {};
      registers = {};
      platform::Schedule schedule = Explored::seeded(seed);
      schedule.late_stores = late_stores;
      Explored::run(schedule, bodies);
      all.insert(registers);
    }
    return all;
  }

  Shared& shared_;
  Outcome r_{};
};

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

// A thread sees its own store early, and its later loads overtake it: the test n6.
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

// Each increment is a load and a store, so one may be lost, but not with a lock.
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

using ExplorerDeathTest = ExplorerTest;

TEST_F(ExplorerDeathTest, ALostWakeUpIsFound) {
  uint64_t& ready = shared_.x;
  const auto program = [&](bool looks_again) {
    for (uint64_t seed = 1; seed <= 200; ++seed) {
      shared_ = {};
      Explored::run(Explored::seeded(seed), {[&, looks_again] {
                                               if (load(ready) != 0) return;
                                               kernel().before_wait();
                                               if (!looks_again || ready == 0)
                                                 kernel().wait(&ready, 0);
                                             },
                                             [&] {
                                               store(ready, 1);
                                               kernel().wake(&ready, 1);
                                             }});
    }
  };
  program(true);
  EXPECT_EXIT(program(false), testing::ExitedWithCode(7), "all threads wait, and no timer runs");
}

TEST_F(ExplorerDeathTest, AThreadThatSpinsForEverIsFound) {
  uint64_t& never = shared_.x;
  const auto program = [&] {
    Explored::run(Explored::seeded(1), {[&] {
                    while (load(never) == 0) kernel().pause();
                  }});
  };
  EXPECT_EXIT(program(), testing::ExitedWithCode(7), "all threads spin, and none stores anything");
}

TEST_F(ExplorerDeathTest, AScheduleWithoutAnEndIsFound) {
  uint64_t& never = shared_.x;
  const auto program = [&] {
    platform::Schedule schedule = Explored::seeded(1);
    schedule.most_steps = 100'000;
    Explored::run(schedule, {[&] {
                    while (load(never) == 0) {
                    }
                  }});
  };
  EXPECT_EXIT(program(), testing::ExitedWithCode(7), "has not ended after 100000 steps");
}

// A crash sees memory as it is at its step, and the run goes on as if there had been none.
TEST_F(ExplorerDeathTest, ACrashIsJudgedWhereItIs) {
  uint64_t &x = shared_.x, &y = shared_.y;
  platform::Schedule schedule = Explored::seeded(3);
  schedule.mean_crash_steps = 10;
  schedule.most_crashes = 100;
  const Body body = [&] {
    for (int i = 0; i < 100; ++i) exchange(x, x + 1), exchange(y, y + 1);
  };
  schedule.judge = [&](uint32_t, bool) {
    x = 1000;
    return 0;
  };
  const auto explored = Explored::run(schedule, {body});
  EXPECT_GT(explored.crashes, 5u);
  EXPECT_EQ(x, 100u);
  schedule.judge = [&](uint32_t, bool) { return x == y ? 0 : 1; };
  schedule.ended = [](const platform::Explored& found) { _exit(10 + found.judged); };
  EXPECT_EXIT(Explored::run(schedule, {body}), testing::ExitedWithCode(11), "");
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

// With PCT a fiber that has waited goes on when it can, whatever others do meanwhile.
TEST(Order, PctChangesThePrioritiesAtAFewStepsOnly) {
  constexpr uint64_t kSteps = 15'000, kMostChanges = 6;
  const std::vector<uint32_t> enabled = {0, 1, 2};
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    platform::SplitMix64 random(seed);
    const auto order = make_order("pct", random);
    uint32_t current = 0;
    uint64_t changes = 0;
    for (uint64_t step = 0; step < kSteps; ++step) {  // each turn ends early
      const uint32_t next = enabled[order->choose(enabled, current, step)];
      changes += step > 0 && next != current ? 1 : 0;
      current = next;
      EXPECT_GT(order->turn_end(current, step), step);
    }
    EXPECT_LE(changes, kMostChanges) << order->name();
  }
}

TEST(Order, TurnsGoToTheNextFiberThatCanGoOn) {
  platform::SplitMix64 random(1);
  const auto order = make_order("turns", random);
  const std::vector<uint32_t> enabled = {1, 4};
  EXPECT_EQ(order->choose(enabled, 0, 0), 0u);
  EXPECT_EQ(order->choose(enabled, 1, 0), 1u);
  EXPECT_EQ(order->choose(enabled, 4, 0), 0u);
  EXPECT_EQ(make_order("sideways", random), nullptr);
}

TEST(StoreBuffer, StoresThatAreTakenBackLandLaterAndOverWhatIsThere) {
  uint64_t word = 1, other = 5;
  StoreBuffer buffer;
  buffer.note(&word, sizeof word), word = 2;
  buffer.note(&word, sizeof word), word = 3;
  buffer.note(&other, sizeof other), other = 6;
  buffer.commit(1);
  buffer.take_back();
  EXPECT_EQ(word, 2u);
  EXPECT_EQ(other, 5u);
  word = 10;  // another thread's
  buffer.drain_one();
  EXPECT_EQ(word, 3u);
  word = 20;
  buffer.put_back();
  EXPECT_EQ(word, 20u);
  EXPECT_EQ(other, 6u);
  buffer.take_back();
  EXPECT_EQ(other, 5u);
}

TEST(StoreBuffer, TheOldestStoreLandsWhenItIsFull) {
  std::array<uint64_t, StoreBuffer::kMost + 1> words{};
  StoreBuffer buffer;
  for (size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(buffer.note(&words[i], sizeof words[i]), i == StoreBuffer::kMost);
    words[i] = 1;
  }
  EXPECT_EQ(buffer.size(), StoreBuffer::kMost);
  buffer.take_back();
  EXPECT_EQ(words[0], 1u);
  EXPECT_EQ(words[1], 0u);
}

TEST(StoreBuffer, PartsOfAWordOverlap) {
  std::array<uint8_t, 12> bytes{};
  StoreBuffer buffer;
  buffer.note(bytes.data(), bytes.size()), bytes.fill(1);
  buffer.note(bytes.data() + 3, 2), bytes[3] = bytes[4] = 2;
  buffer.take_back();
  EXPECT_EQ(bytes, (std::array<uint8_t, 12>{}));
  buffer.put_back();
  EXPECT_EQ(bytes, (std::array<uint8_t, 12>{1, 1, 1, 2, 2, 1, 1, 1, 1, 1, 1, 1}));
}

}  // namespace
}  // namespace logjam::sim
