#include "sim/machine/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "platform/fatal.h"
#include "tests/sim/test_caches.h"

namespace logjam::sim {
namespace {

TEST(Scheduler, WhatIsVisibleHappensInTheOrderOfTheClocks) {
  RunningMachine machine(free_kernel(), 4);
  std::vector<std::pair<Picoseconds, uint32_t>> seen;
  // The steps have few different lengths, so the clocks of contexts are often equal. Then the
  // context with the smaller number runs first.
  const auto body = [&] {
    std::mt19937 random(machine->current().id);
    for (int step = 0; step < 500; ++step) {
      const Picoseconds time = random() % 3 * kNanosecond;
      random() % 4 == 0 ? machine->sleep(time) : machine->spend(time);
      machine->visible();
      seen.emplace_back(machine->now(), machine->current_cpu().number);
    }
  };
  machine.run_pinned({body, body, body, body});
  ASSERT_EQ(seen.size(), 2000U);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

TEST(Scheduler, AClockRunsAheadUntilSomethingIsVisible) {
  RunningMachine machine(free_kernel(), 2);
  std::string order;
  const auto body = [&](char name) {
    return [&order, &machine, name] {
      machine->current_cpu().now += (name == 'a' ? 100 : 1) * kMicrosecond;
      order += name;
      machine->visible();
      order += name;
    };
  };
  machine.run_pinned({body('a'), body('b')});
  EXPECT_EQ(order, "abba");
}

TEST(Scheduler, ASleepEndsLate) {
  RunningMachine machine(small_profile(), 4);
  Picoseconds slept = 0;
  machine.run({[&] {
    const Picoseconds before = machine->now();
    machine->sleep(30 * kMicrosecond);
    slept = machine->now() - before;
  }});
  EXPECT_EQ(slept, 35 * kMicrosecond);
  const Picoseconds before = machine->now();
  machine->sleep(30 * kMicrosecond);
  EXPECT_EQ(machine->now() - before, 30 * kMicrosecond) << "the observer wakes in time";
}

// Runs two fibers on one context. The second fiber sleeps while the first fiber works for 100 us.
// Returns the time from the end of the sleep until the second fiber runs.
Picoseconds time_until_it_runs(bool favoured) {
  RunningMachine machine(small_profile(), 1);
  Picoseconds late = 0;
  machine.run({[&] {
                 for (int step = 0; step < 5000; ++step) machine->spend(kMicrosecond);
               },
               [&] {
                 machine->current().favoured = favoured;
                 const Picoseconds before = machine->now();
                 machine->sleep(100 * kMicrosecond);
                 late = machine->now() - before - 105 * kMicrosecond;
               }});
  return late;
}

TEST(Scheduler, OnlyAFavouredFiberPreempts) {
  const Picoseconds favoured = time_until_it_runs(true);
  EXPECT_GE(favoured, 1500 * kNanosecond) << "a context switch";
  EXPECT_LE(favoured, 1500 * kNanosecond + kMicrosecond) << "and a step of the other fiber";
  const Picoseconds late = time_until_it_runs(false);
  EXPECT_GE(late, 800 * kMicrosecond) << "the end of the time slice";
  EXPECT_LE(late, 1000 * kMicrosecond);
}

TEST(Scheduler, APreemptedFiberIsTheNextOne) {
  RunningMachine machine(free_kernel(), 1);
  std::string order;
  const auto work = [&](char name) {
    return [&order, &machine, name] {
      for (int step = 0; step < 300; ++step) {
        machine->spend(kMicrosecond);
        if (order.empty() || order.back() != name) order += name;
      }
    };
  };
  machine.run({[&] {
                 machine->current().favoured = true;
                 machine->sleep(100 * kMicrosecond);
                 order += 'f';
               },
               work('a'), work('b')});
  EXPECT_EQ(order, "afab");
}

TEST(Scheduler, FavouredFibersRunBeforeTheOneThatTheyPreempt) {
  // Both fibers wake at the same time, or the second fiber wakes while the first fiber runs.
  for (const Picoseconds later : {Picoseconds{0}, 5 * kMicrosecond}) {
    RunningMachine machine(free_kernel(), 1);
    std::string order;
    const auto log_thread = [&](char name, Picoseconds sleeps) {
      return [&order, &machine, name, sleeps] {
        machine->current().favoured = true;
        machine->sleep(sleeps);
        order += name;
        machine->spend(10 * kMicrosecond);
        machine->visible();
        order += name;
      };
    };
    const auto worker = [&] {
      for (int step = 0; step < 300; ++step) machine->spend(kMicrosecond);
      order += 'w';
    };
    machine.run(
        {log_thread('a', 100 * kMicrosecond), log_thread('b', 100 * kMicrosecond + later), worker});
    EXPECT_EQ(order, "aabbw");
  }
}

TEST(Scheduler, TimeSlicesAlternateTheFibersOfAContext) {
  RunningMachine machine(small_profile(), 1);
  constexpr Picoseconds kStep = 10 * kMicrosecond;
  struct Turn {
    uint32_t fiber;
    Picoseconds begin, end;
  };
  std::vector<Turn> turns;
  const auto body = [&] {
    for (int step = 0; step < 500; ++step) {
      const uint32_t id = machine->current().id;
      const Picoseconds before = machine->now();
      if (turns.empty() || turns.back().fiber != id) turns.push_back({id, before, 0});
      turns.back().end = before + kStep;
      machine->spend(kStep);
    }
  };
  machine.run({body, body});
  ASSERT_EQ(turns.size(), 10U) << "five slices of a millisecond each";
  for (size_t turn = 1; turn + 2 < turns.size(); ++turn) {
    EXPECT_GE(turns[turn].end - turns[turn].begin, 1000 * kMicrosecond) << turn;
    EXPECT_LE(turns[turn].end - turns[turn].begin, 1000 * kMicrosecond + kStep) << turn;
    EXPECT_EQ(turns[turn].begin - turns[turn - 1].end, 1500 * kNanosecond) << turn;
  }
  EXPECT_EQ(machine->usage().switches_taken, 8U) << "the last switch is given: the fiber has ended";
}

TEST(Scheduler, AYieldLetsTheNextFiberOfTheContextRun) {
  RunningMachine machine(small_profile(), 1);
  std::string order;
  std::vector<Picoseconds> at;
  const auto body = [&](char name) {
    return [&, name] {
      for (int step = 0; step < 3; ++step) {
        order += name;
        at.push_back(machine->now());
        machine->yield();
      }
    };
  };
  machine.run({body('a'), body('b')});
  EXPECT_EQ(order, "ababab");
  EXPECT_EQ(at[1] - at[0], 1650 * kNanosecond) << "a system call and a context switch";
}

// A thread that has slept for a mutex makes the wake-up call when it unlocks the mutex. If no
// thread is asleep then, the call must cost only a system call.
TEST(Scheduler, AWakeUpCostsTheWakersPartOnlyIfThereIsASleeper) {
  const Profile profile = small_profile();
  ASSERT_GT(profile.futex_wake_ns, profile.syscall_ns);
  RunningMachine machine(profile, 2);
  int word = 0, other = 0;
  std::vector<Picoseconds> spent;
  machine.run({[&] {
                 machine->wait(&other, 10 * kMicrosecond);
                 machine->wait(&word, 0);
               },
               [&] {
                 machine->spend(50 * kMicrosecond);
                 machine->visible();
                 for (const int* called : {&other, &word, &word}) {
                   const Picoseconds before = machine->now();
                   machine->wake(called, 1);
                   spent.push_back(machine->now() - before);
                 }
               }});
  const Picoseconds none = static_cast<Picoseconds>(profile.syscall_ns) * kNanosecond;
  const Picoseconds one = static_cast<Picoseconds>(profile.futex_wake_ns) * kNanosecond;
  EXPECT_EQ(spent, (std::vector<Picoseconds>{none, one, none}));
}

TEST(Scheduler, AWakeUpEndsAsManyWaitsAsItSaysInTheirOrder) {
  RunningMachine machine(free_kernel(), 4);
  int word = 0, other = 0;
  std::vector<uint32_t> woken;
  std::vector<Fiber*> fibers;
  for (uint32_t waiter = 0; waiter < 3; ++waiter) {
    fibers.push_back(machine->spawn([&, waiter] {
      machine->sleep((waiter + 1) * kMicrosecond);
      machine->wait(&word, 0);
      woken.push_back(waiter);
    }));
  }
  machine->sleep(100 * kMicrosecond);
  machine->wake(&other, 3);
  machine->sleep(100 * kMicrosecond);
  EXPECT_TRUE(woken.empty());
  machine->wake(&word, 2);
  machine->sleep(100 * kMicrosecond);
  std::sort(woken.begin(), woken.end());
  EXPECT_EQ(woken, (std::vector<uint32_t>{0, 1}));
  machine->wake(&word, ~uint32_t{0});
  for (Fiber* fiber : fibers) machine->join(fiber);
  EXPECT_EQ(woken.back(), 2U);
}

TEST(Scheduler, TheTimerOfAWaitThatWasWokenIsNothing) {
  RunningMachine machine(free_kernel(), 2);
  int word = 0;
  Picoseconds woken_after = 0, slept = 0;
  machine.run({[&] {
                 machine->wake(&word, 1);  // no fiber waits, so it has no effect
                 const Picoseconds before = machine->now();
                 machine->wait(&word, 100 * kMicrosecond);
                 woken_after = machine->now() - before;
                 machine->sleep(500 * kMicrosecond);
                 slept = machine->now() - before - woken_after;
               },
               [&] {
                 machine->spend(50 * kMicrosecond);
                 machine->visible();
                 machine->wake(&word, 1);
               }});
  EXPECT_GE(woken_after, 49 * kMicrosecond);
  EXPECT_LE(woken_after, 51 * kMicrosecond);
  EXPECT_EQ(slept, 500 * kMicrosecond);
}

TEST(Scheduler, ASleeperWakesAfterTheWakeUpsLatency) {
  RunningMachine machine(small_profile(), 2);
  int word = 0;
  Picoseconds called = 0, awake = 0;
  machine.run({[&] {
                 machine->wait(&word, 0);
                 awake = machine->now();
               },
               [&] {
                 machine->spend(50 * kMicrosecond);
                 machine->visible();
                 called = machine->now();
                 machine->wake(&word, 1);
               }});
  EXPECT_GE(awake - called, 3600 * kNanosecond) << "10 % less than 4 us";
  EXPECT_LE(awake - called, 4400 * kNanosecond) << "10 % more";
}

TEST(SchedulerDeathTest, ALostWakeUpEndsTheProcessWithASentence) {
  RunningMachine machine(small_profile(), 2);
  int word = 0;
  EXPECT_EXIT(machine.run({[&] { machine->wait(&word, 0); }}),
              testing::ExitedWithCode(platform::kExitFailed),
              "^logjam: all virtual threads wait for each other: a wake-up was lost\n$");
}

TEST(Scheduler, APinnedFiberRunsOnItsContext) {
  RunningMachine machine(small_profile(), 6);
  std::vector<uint32_t> contexts;
  std::vector<uint32_t> sockets;
  machine.run({[&] {
    for (const uint32_t context : {5U, 0U, 3U}) {
      machine->pin(context);
      machine->sleep(kMicrosecond);
      contexts.push_back(machine->current_cpu().number);
      sockets.push_back(socket_here());
      EXPECT_EQ(home_of(line_of(&context)), sockets.back()) << "the home of its stack";
    }
  }});
  EXPECT_EQ(contexts, (std::vector<uint32_t>{5, 0, 3}));
  EXPECT_EQ(sockets, (std::vector<uint32_t>{1, 0, 0})) << "where it takes memory";
}

TEST(Scheduler, FibersSpreadOverIdleContextsOfTheirSocket) {
  RunningMachine machine(small_profile(), 8);
  std::vector<uint32_t> contexts;
  const auto body = [&](uint32_t socket) {
    return [&contexts, &machine, socket] {
      machine->pin_to_socket(socket);
      machine->spend(kMicrosecond);
      contexts.push_back(machine->current_cpu().number);
    };
  };
  machine.run({body(1), body(1), body(1), body(1)});
  std::sort(contexts.begin(), contexts.end());
  EXPECT_EQ(contexts, (std::vector<uint32_t>{4, 5, 6, 7}));
}

// Workers keep all contexts of a socket busy. Each log thread then gets a context of its own, or
// the contexts share the log threads equally. The log threads begin one after the other, before or
// after the workers, so in both cases the same context is the best when each of them begins.
TEST(Scheduler, LogThreadsOfABusySocketSpreadOverItsContexts) {
  for (const auto& [log_threads, workers_begin] : std::vector<std::pair<uint32_t, Picoseconds>>{
           {1, 0}, {3, 0}, {4, 0}, {6, 0}, {3, 200}, {8, 200}}) {
    RunningMachine machine(small_profile(), 8);
    std::vector<std::set<uint32_t>> contexts(log_threads);  // of each log thread, at late steps
    std::vector<std::function<void()>> bodies(2, [&] { machine->pin(7); });  // these end at once
    for (uint32_t thread = 0; thread < log_threads; ++thread) {
      bodies.emplace_back([&, thread] {
        machine->sleep((10 + 10 * thread) * kMicrosecond);
        machine->pin_to_socket(1);
        machine->current().favoured = true;
        for (int step = 0; step < 100; ++step) {
          machine->sleep(20 * kMicrosecond);
          if (step >= 50 && step < 90) contexts[thread].insert(machine->current_cpu().number);
          machine->spend(kMicrosecond);
        }
      });
    }
    for (uint32_t worker = 4; worker < 8; ++worker) {
      bodies.emplace_back([&, worker] {
        machine->sleep(workers_begin * kMicrosecond);
        machine->pin(worker);
        for (int step = 0; step < 5000; ++step) machine->spend(kMicrosecond);
      });
    }
    machine.run(bodies);
    std::map<uint32_t, uint32_t> threads;
    for (const std::set<uint32_t>& of_thread : contexts) {
      ASSERT_EQ(of_thread.size(), 1U) << "a log thread stays on its context";
      ++threads[*of_thread.begin()];
    }
    EXPECT_EQ(threads.size(), std::min(log_threads, 4U));
    for (const auto& [context, number] : threads) {
      EXPECT_GE(context, 4U) << "a context of the socket";
      EXPECT_LE(number, (log_threads + 3) / 4);
    }
  }
}

// A context may make visible steps ahead of the earliest clock, by at most look_ahead_ns.
TEST(LookAhead, PassesTheEarliestClockByAsMuchAsTheProfileSays) {
  Profile profile = free_kernel();
  profile.look_ahead_ns = 100;
  RunningMachine machine(profile, 4);
  Picoseconds latest = 0, farthest_back = 0;
  const auto body = [&] {
    std::mt19937 random(machine->current().id);
    Picoseconds before = 0;
    for (int step = 0; step < 500; ++step) {
      machine->spend(random() % 20 * kNanosecond);
      machine->visible();
      EXPECT_GE(machine->now(), before) << "no clock goes back";
      before = machine->now();
      farthest_back = std::max(farthest_back, latest - std::min(latest, before));
      latest = std::max(latest, before);
    }
  };
  machine.run_pinned({body, body, body, body});
  EXPECT_LE(farthest_back, 100 * kNanosecond);
  EXPECT_GE(farthest_back, 50 * kNanosecond) << "else nothing is gained";
  EXPECT_LT(machine->turns_given(), 1000U) << "of 2000 visible steps";
}

TEST(LookAhead, AContextDoesNotWaitForMemoryThatOneAheadOfItAsksFor) {
  Profile profile = small_profile();
  profile.look_ahead_ns = 100;
  TestCaches caches(profile);
  const uint32_t line = line_of_new_page();
  constexpr Picoseconds kNow = 5'000'000'000;
  EXPECT_EQ(caches.access_at(0, line, false, kNow + 50 * kNanosecond), 220U);
  EXPECT_EQ(caches.access_at(1, line + 1, false, kNow), 220U);
  EXPECT_EQ(caches.access_at(2, line + 2, false, kNow - 100 * kNanosecond), 220U + 70U);
}

TEST(LookAhead, PassesNoTimer) {
  Profile profile = free_kernel();
  profile.look_ahead_ns = 10'000;
  RunningMachine machine(profile, 1);
  const Picoseconds begin = machine->now();
  Picoseconds woken = 0;
  machine.run({[&] {
                 machine->current().favoured = true;
                 machine->sleep(20 * kMicrosecond);
                 woken = machine->now();
               },
               [&] {
                 for (int step = 0; step < 1000; ++step) machine->spend(kMicrosecond / 10);
               }});
  EXPECT_GE(woken, begin + 20 * kMicrosecond);
  EXPECT_LE(woken, begin + 21 * kMicrosecond);
}

}  // namespace
}  // namespace logjam::sim
