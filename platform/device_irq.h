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

// Returns the core to which nearly all of a device's interrupts go, or -1 if there is no such core:
// a device with an interrupt for each core wakes a thread on the core on which the thread runs.
int core_of_most(std::span<const InterruptCount> interrupts);

// Returns the core that is interrupted by the device on which the directory `path` lies, or would
// lie if it existed. Returns -1 if there is no such core or the kernel does not say. Linux, sysfs.
int interrupt_core(const std::string& path);

}  // namespace logjam::platform
