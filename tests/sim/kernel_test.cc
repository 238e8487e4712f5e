// The prices of the simulated kernel, and contexts that share a core.
#include <gtest/gtest.h>

#include <utility>

#include "sim/machine/scheduler.h"
#include "tests/sim/small_machine.h"

namespace logjam::sim {
namespace {

constexpr Picoseconds kNanosecond = 1000, kMicrosecond = 1'000'000;

// The kernel looks at the word early, and the sleeper is still leaving its core then.
TEST(Kernel, ASleeperLeavesItsCoreAfterTheKernelHasLooked) {
  Profile profile = free_kernel();
  profile.futex_look_ns = 100;
  profile.futex_wait_ns = 900;
  RunningMachine machine(profile, 1);
  int word = 0;
  Picoseconds waited = 0, next = 0;
  Fiber* sleeper = machine->spawn([&] {
    machine->pin(0);
    waited = machine->now();
    machine->wait(&word, 0);
  });
  Fiber* other = machine->spawn([&] {
    machine->pin(0);
    next = machine->now();
    machine->wake(&word, 1);
  });
  machine->join(other);
  machine->join(sleeper);
  EXPECT_EQ(next - waited, 800 * kNanosecond);
}

TEST(Kernel, ACoreThatWorksPaysForTheInterruptOfAWakeUp) {
  for (const double interrupt : {0.0, 500.0}) {
    Profile profile = free_kernel();
    profile.wake_busy_ns = interrupt;
    RunningMachine machine(profile, 1);
    Picoseconds woken = 0, expected = 0;
    Fiber* logger = machine->spawn([&] {
      machine->pin(0);
      machine->current().favoured = true;
      expected = machine->now() + 10 * kMicrosecond;
      machine->sleep(10 * kMicrosecond);
      woken = machine->now();
    });
    Fiber* worker = machine->spawn([&] {
      machine->pin(0);
      for (int i = 0; i < 1000; ++i) machine->spend(20 * kNanosecond);
    });
    machine->join(logger);
    machine->join(worker);
    EXPECT_NEAR(static_cast<double>(woken - expected), interrupt * kNanosecond, 40 * kNanosecond);
  }
}

TEST(Kernel, WithAnotherSeedContextsBeginAtOtherMoments) {
  const auto begin_of = [](uint64_t seed) {
    RunningMachine machine(free_kernel(), 2, seed);
    Picoseconds begin[2] = {};
    machine.run_pinned({[&] { begin[0] = machine->now(); }, [&] { begin[1] = machine->now(); }});
    return std::pair(begin[0], begin[1]);
  };
  EXPECT_EQ(begin_of(2), begin_of(2));
  EXPECT_NE(begin_of(2), begin_of(3));
}

TEST(Kernel, AStalledContextLeavesItsIssueSlotsToItsSiblings) {
  Profile profile = free_kernel();
  profile.contexts = 2;
  RunningMachine machine(profile, 0);
  Picoseconds beside_a_stall = 0;
  Fiber* first = machine->spawn([&] {
    machine->pin(0);
    machine->sleep(200 * kMicrosecond);
    beside_a_stall = machine->current_cpu().per_instruction;
  });
  Fiber* sibling = machine->spawn([&] {
    machine->pin(4);                                    // of core 0 too
    for (int i = 0; i < 10'000; ++i) machine->pause();  // 40 ns each
  });
  machine->join(first);
  machine->join(sibling);
  EXPECT_EQ(beside_a_stall, 1000U) << "a pause takes no issue slots";
}

}  // namespace
}  // namespace logjam::sim
