#include "platform/device_irq.h"

#include <gtest/gtest.h>

#include <vector>

#include "platform/thread.h"

namespace logjam::platform {
namespace {

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

// The machine decides whether there is such a core, and which one it is.
TEST(Interrupts, ADirectoryThatIsNotThereYetIsOnTheDeviceOfItsParent) {
  EXPECT_EQ(interrupt_core("/var/tmp/not/there"), interrupt_core("/var/tmp"));
  EXPECT_LE(interrupt_core("/var/tmp"), 1 << 20);
}

}  // namespace
}  // namespace logjam::platform
