// The core that a storage device interrupts. A thread that waits for a write wakes soonest on that
// core. On another core, the wake-up needs a second interrupt.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace logjam::platform {

// One interrupt of a device: how often it has occurred, and the core to which it goes now.
struct InterruptCount {
  int core = 0;
  unsigned long long times = 0;
};

// Returns the core to which nearly all of a device's interrupts go, or -1. (A device with an
// interrupt for each core wakes a thread on the thread's own core.)
int core_of_most(std::span<const InterruptCount> interrupts);

// Returns the core to which the device of the directory `path` sends interrupts; -1 if there is no
// such core or the kernel does not say. `path` need not exist. Reads sysfs.
int interrupt_core(const std::string& path);

}  // namespace logjam::platform
