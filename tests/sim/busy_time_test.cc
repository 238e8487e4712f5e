#include <gtest/gtest.h>

#include "sim/machine/scheduler.h"
#include "tests/sim/small_machine.h"

namespace logjam::sim {
namespace {

constexpr Picoseconds kMicrosecond = 1'000'000;

TEST(BusyTime, IsWhatTheFibersUsed) {
  RunningMachine machine(free_kernel(), 2);
  const auto body = [&] {
    machine->spend(70 * kMicrosecond);
    machine->sleep(1000 * kMicrosecond);
    machine->spend(30 * kMicrosecond);
  };
  machine.run({body, body});
  EXPECT_EQ(machine->busy_time(), 200 * kMicrosecond);
}

TEST(BusyTime, TheKernelsTimeIsThatOfCallsAndSwitches) {
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
  // Two yields, and three switches: the first thread's end is one.
  EXPECT_EQ(machine->kernel_time(), (2 * 1 + 3 * 3) * kMicrosecond);
  EXPECT_EQ(machine->busy_time(), 200 * kMicrosecond + machine->kernel_time());
}

}  // namespace
}  // namespace logjam::sim
