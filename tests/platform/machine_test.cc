// The machine as the program sees it: ticks, interrupts, processor time.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <thread>
#include <vector>

#include "platform/clock.h"
#include "platform/cpu_use.h"
#include "platform/device_irq.h"
#include "platform/host.h"
#include "platform/processor_name.h"
#include "platform/spin.h"
#include "platform/thread.h"

namespace logjam::platform {
namespace {

// If a thread loses its core between the readings of two clocks, the ratio of the two readings is
// wrong. So median_ns_per_tick() must ignore such an interval.
TEST(Clock, IntervalsThatWereDisturbedDoNotCount) {
  const ClockInterval good{5'000'000, 10'000'000}, late{9'000'000, 10'000'000},
      early{5'000'000, 14'000'000};
  for (const auto& intervals :
       std::vector<std::vector<ClockInterval>>{{good, good, good, good, good},
                                               {late, good, good, late, good},
                                               {early, good, early, good, good},
                                               {late, early, good, good, good}}) {
    EXPECT_DOUBLE_EQ(median_ns_per_tick(intervals), 0.5);
  }
}

int core_of(const std::vector<InterruptCount>& interrupts) { return core_of_most(interrupts); }

TEST(Interrupts, ADeviceHasACoreIfNearlyAllItsInterruptsGoThere) {
  EXPECT_EQ(core_of({{.core = 0, .times = 7}, {.core = 1, .times = 40'000}}), 1);
  EXPECT_EQ(core_of({{.core = 3, .times = 500}, {.core = 3, .times = 600}}), 3);
  EXPECT_EQ(core_of({{.core = 0, .times = 900}, {.core = 1, .times = 1'000}}), -1);
  EXPECT_EQ(core_of({}), -1);
  EXPECT_EQ(core_of({{.core = 0, .times = 0}}), -1);
  EXPECT_EQ(interrupt_core("/proc"), -1);
  EXPECT_EQ(interrupt_core(""), -1);
}

// The core differs between machines and may be unknown, so the test only compares the two answers.
TEST(Interrupts, ADirectoryThatIsNotThereYetIsOnTheDeviceOfItsParent) {
  EXPECT_EQ(interrupt_core("/var/tmp/not/there"), interrupt_core("/var/tmp"));
  EXPECT_LE(interrupt_core("/var/tmp"), 1 << 20);
}

TEST(ProcessorName, IsTheKernelsOrThatOfArmsNumbers) {
  EXPECT_EQ(processor_name("processor\t: 0\nmodel name\t: Xeon: fast\n"), "Xeon: fast");
  const std::string arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: ";
  EXPECT_EQ(processor_name(arm + "0xd0c\n"), "Arm Neoverse N1");
  EXPECT_EQ(processor_name(arm + "0xfff\n"), "Arm processor 0xfff of implementer 0x41");
  EXPECT_EQ(processor_name("processor\t: 0\n"), "");
}

TEST(ProcessUseTest, TheKernelsPartIsThatOfSystemCalls) {
  constexpr double kEnough = 0.05;  // seconds; some kernels count processor time in ticks of 10 ms
  const ProcessUse begin = process_use();
  ProcessUse computed;
  while (computed.cpu_seconds < kEnough) {
    for (int i = 0; i < 10'000; ++i) pause();
    computed = process_use().since(begin);
  }
  EXPECT_LT(computed.system_seconds, computed.cpu_seconds / 2);
  const ProcessUse middle = process_use();
  ProcessUse called;
  while (called.system_seconds < kEnough / 2) {
    for (int i = 0; i < 1000; ++i) (void)getppid();
    called = process_use().since(middle);
  }
  EXPECT_LE(called.system_seconds, called.cpu_seconds);
}

}  // namespace
}  // namespace logjam::platform
