// The errors that the explorer finds without a check of the test, crashes, and replayed schedules.
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>
#include <vector>

#include "sim/explore/explored_heap.h"
#include "sim/explore/explorer.h"
#include "tests/sim/explored_program.h"

namespace logjam::sim {
namespace {

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

TEST_F(ExplorerDeathTest, AScheduleWithoutAnEndIsFoundAndNamesWhoWaits) {
  uint64_t& never = shared_.x;
  const Body endless = [&] {
    while (load(never) == 0) {
    }
  };
  const Body sleeps = [&] {
    kernel().current().name = "sleeper";
    kernel().before_wait();
    kernel().wait(&never, 0);
  };
  platform::Schedule schedule = Explored::seeded(1);
  schedule.most_steps = 100'000;
  EXPECT_EXIT(Explored::run(schedule, {endless}), testing::ExitedWithCode(7),
              "has not ended after 100000 steps\n");
  EXPECT_EXIT(Explored::run(schedule, {sleeps, endless}), testing::ExitedWithCode(7),
              "has not ended after 100000 steps; sleeper waits since step [0-9]+\n.*"
              "sleeper waits since step [0-9]+");
}

TEST_F(ExplorerDeathTest, AThreadThatUsesFreedMemoryIsFound) {
  watch_freed_memory();
  auto* words = static_cast<uint64_t*>(page());
  note_freed(words + 1, sizeof *words);
  const auto program = [&](uint64_t& word) {
    Explored::run(Explored::seeded(1), {[&] { store(word, load(word) + 1); }});
  };
  program(words[0]);
  program(words[2]);
  EXPECT_EQ(words[0], 1u);
  EXPECT_EXIT(program(words[1]), testing::ExitedWithCode(7), "uses memory that was freed");
}

// The function `judge` sees the memory at the crash. Its changes of the memory do not last.
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

TEST_F(ExplorerTest, ARecordedScheduleTakesTheSameSteps) {
  uint64_t &x = shared_.x, &y = shared_.y;
  const auto adds = [&] {
    for (int i = 0; i < 20; ++i) {
      store(x, load(x) + 1);
      if (i % 7 == 0) kernel().sleep(1000);
      if (i % 3 == 0) increment(y);
    }
    while (load(y) < 21) kernel().pause();
  };
  std::set<uint64_t> hashes, results;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    shared_ = {};
    platform::Schedule schedule = Explored::seeded(seed);
    schedule.records = true;
    const platform::Explored drawn = Explored::run(schedule, {adds, adds, adds});
    const uint64_t result = x;
    shared_ = {};
    schedule.recorded = true;
    schedule.turns = drawn.turns;
    const platform::Explored again = Explored::run(schedule, {adds, adds, adds});
    EXPECT_EQ(again.hash, drawn.hash) << drawn.order;
    EXPECT_EQ(again.steps, drawn.steps);
    EXPECT_EQ(x, result);
    hashes.insert(drawn.hash);
    results.insert(result);
  }
  EXPECT_GT(hashes.size(), 100u);
  EXPECT_GT(results.size(), 10u);
}

// If the recorded schedule has no turns, the explorer switches threads only where a thread waits.
TEST_F(ExplorerTest, ARecordedScheduleNeedsNotHaveAllTurns) {
  uint64_t &x = shared_.x, &y = shared_.y;
  const auto adds = [&](uint64_t& r) {
    return [&] {
      for (int i = 0; i < 3; ++i) store(x, load(x) + 1), exchange(y, 1);
      r = x;
    };
  };
  platform::Schedule schedule;
  schedule.recorded = true;
  Explored::run(schedule, {adds(r_[0]), adds(r_[1])});
  EXPECT_EQ(r_, (Outcome{3, 6, 0, 0}));
  shared_ = {};
  // The first thread is preempted after its first load, so the second thread's additions are lost.
  schedule.turns = {{.thread = 1, .steps = 2, .next = 2}};
  const platform::Explored lost = Explored::run(schedule, {adds(r_[0]), adds(r_[1])});
  EXPECT_EQ(r_[1], 3u);
  EXPECT_EQ(x, 3u);
  EXPECT_EQ(lost.order, "recorded");
}

// The replay of a schedule that a seed has chosen has the schedule's crash at the same step.
TEST_F(ExplorerDeathTest, ARecordedCrashIsWhereItWas) {
  uint64_t &x = shared_.x, &y = shared_.y;
  const Body body = [&] {
    for (int i = 0; i < 100; ++i) {
      increment(x), increment(y);
      if (i % 5 == 0) static_cast<Explorer&>(kernel()).maybe_crash(4, i % 2 == 0);
    }
  };
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    shared_ = {};
    platform::Schedule schedule = Explored::seeded(seed);
    schedule.records = true;
    schedule.mean_crash_steps = 50;
    schedule.most_crashes = 100;
    schedule.judge = [&](uint32_t, bool) { return 0; };
    platform::Explored drawn = Explored::run(schedule, {body, body});
    ASSERT_GT(drawn.crashes, 2u);
    shared_ = {};
    schedule.recorded = true;
    schedule.turns = drawn.turns;
    schedule.crash = drawn.crash;
    schedule.most_crashes = 3;
    schedule.judge = [&](uint32_t number, bool in_a_file_call) {
      return number >= drawn.crash.number && in_a_file_call == drawn.crash.in_a_file_call ? 0 : 1;
    };
    const platform::Explored again = Explored::run(schedule, {body, body});
    EXPECT_EQ(again.hash, drawn.hash);
    EXPECT_EQ(again.crashes, 3u);
    EXPECT_EQ(again.crash.steps, drawn.crash.steps);
    EXPECT_EQ(again.crash.thread, drawn.crash.thread);
  }
}

}  // namespace
}  // namespace logjam::sim
