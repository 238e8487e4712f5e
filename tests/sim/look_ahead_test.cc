// A context may make visible steps ahead of the earliest clock, but only as far as the profile's
// look_ahead_ns says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>

#include "sim/machine/scheduler.h"
#include "tests/sim/test_caches.h"

namespace logjam::sim {
namespace {

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
