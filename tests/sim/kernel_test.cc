// The prices of the simulated kernel, the busy times of contexts, and contexts that share a core.
#include <gtest/gtest.h>

#include <vector>

#include "sim/machine/scheduler.h"
#include "tests/sim/small_machine.h"

namespace logjam::sim {
namespace {

// In a futex wait, the kernel looks at the futex's word before the sleeper has left its core.
TEST(Kernel, ASleeperLeavesItsCoreAfterTheKernelHasLooked) {
  Profile profile = free_kernel();
  profile.futex_look_ns = 100;
  profile.futex_wait_ns = 900;
  RunningMachine machine(profile, 1);
  int word = 0;
  Picoseconds waited = 0, next = 0;
  machine.run({[&] {
                 waited = machine->now();
                 machine->wait(&word, 0);
               },
               [&] {
                 next = machine->now();
                 machine->wake(&word, 1);
               }});
  EXPECT_EQ(next - waited, 800 * kNanosecond);
}

TEST(Kernel, ACoreThatWorksPaysForTheInterruptOfAWakeUp) {
  for (const double interrupt : {0.0, 500.0}) {
    Profile profile = free_kernel();
    profile.wake_busy_ns = interrupt;
    RunningMachine machine(profile, 1);
    Picoseconds woken = 0, expected = 0;
    machine.run({[&] {
                   machine->current().favoured = true;
                   expected = machine->now() + 10 * kMicrosecond;
                   machine->sleep(10 * kMicrosecond);
                   woken = machine->now();
                 },
                 [&] {
                   for (int i = 0; i < 1000; ++i) machine->spend(20 * kNanosecond);
                 }});
    EXPECT_NEAR(static_cast<double>(woken - expected), interrupt * kNanosecond, 40 * kNanosecond);
  }
}

TEST(Kernel, TheBusyTimeIsWhatTheFibersUse) {
  RunningMachine machine(free_kernel(), 2);
  const auto body = [&] {
    machine->spend(70 * kMicrosecond);
    machine->sleep(1000 * kMicrosecond);
    machine->spend(30 * kMicrosecond);
  };
  machine.run({body, body});
  EXPECT_EQ(machine->usage().busy, 200 * kMicrosecond);
}

TEST(Kernel, TheKernelsTimeIsThatOfCallsAndSwitches) {
  Profile profile = free_kernel();
  profile.syscall_ns = 1000;
  profile.context_switch_ns = 3000;
  RunningMachine machine(profile, 1);
  const auto body = [&] {
    machine->spend(70 * kMicrosecond);
    machine->yield();
    machine->spend(30 * kMicrosecond);
  };
  machine.run({body, body});
  // There are two yields and three switches, one of them at the end of the first fiber.
  EXPECT_EQ(machine->usage().kernel, (2 * 1 + 3 * 3) * kMicrosecond);
  EXPECT_EQ(machine->usage().busy, 200 * kMicrosecond + machine->usage().kernel);
}

TEST(Kernel, TwoBusyContextsOfACoreShareItsInstructions) {
  Profile profile = free_kernel();
  profile.contexts = 2;
  RunningMachine machine(profile, 0);
  std::vector<Picoseconds> prices;
  machine.run({[&] {
                 machine->pin(0);
                 for (const Picoseconds pause : {0, 100, 500}) {
                   machine->sleep(pause * kMicrosecond);
                   prices.push_back(machine->current_cpu().per_instruction);
                 }
               },
               [&] {
                 machine->sleep(10 * kMicrosecond);
                 machine->pin(4);  // also a context of core 0
                 machine->spend(300 * kMicrosecond);
               }});
  EXPECT_EQ(prices, (std::vector<Picoseconds>{1000, 1500, 1000}));
}

TEST(Kernel, AStalledContextLeavesItsIssueSlotsToItsSiblings) {
  Profile profile = free_kernel();
  profile.contexts = 2;
  RunningMachine machine(profile, 0);
  Picoseconds beside_a_stall = 0;
  machine.run({[&] {
                 machine->pin(0);
                 machine->sleep(200 * kMicrosecond);
                 beside_a_stall = machine->current_cpu().per_instruction;
               },
               [&] {
                 machine->pin(4);                                    // also a context of core 0
                 for (int i = 0; i < 10'000; ++i) machine->pause();  // 40 ns each
               }});
  EXPECT_EQ(beside_a_stall, 1000U) << "a pause takes no issue slots";
}

}  // namespace
}  // namespace logjam::sim
