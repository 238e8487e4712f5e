// Which core a storage device interrupts.
//
// The thread that waits for a write wakes soonest on the core that takes the device's interrupt: on
// another core it is woken by one more interrupt, from core to core.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace logjam::platform {

// One interrupt of a device: how often it has come, and the core to which it goes now.
struct InterruptCount {
  int core = 0;
  unsigned long long times = 0;
};

// Returns the core to which nearly all of them go, or -1 if there is none: a device with an
// interrupt for each core wakes a thread where it runs.
int core_of_most(std::span<const InterruptCount> interrupts);

// Returns that core for the device that holds the directory `path` (or would: it need not exist
// yet), or -1 if it has none or the kernel does not say. Linux, sysfs.
int interrupt_core(const std::string& path);

}  // namespace logjam::platform
