// Which cores and caches this machine has, as the kernel tells it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "platform/kernel_files.h"

namespace logjam::platform {

// What the kernel does not tell is 0.
struct CacheShape {
  uint64_t kib = 0;
  uint32_t ways = 0;
};

struct MachineShape {
  std::string name;  // of the processor
  std::string kernel;
  int sockets = 1;
  int cores = 1;     // of the first allowed core's socket, as far as they are allowed
  int contexts = 1;  // hardware contexts of the first allowed core
  CacheShape l1, l2, l3;
  // Places in the list of allowed cores, the numbers of pin_to_core(), beside place 0. -1: none.
  int same_socket = -1;   // another core of the same socket
  int sibling = -1;       // another context of the same core
  int other_socket = -1;  // a core of another socket
};

// Reads /proc and /sys. `allowed` are the kernel's numbers of the cores to look at, not empty.
MachineShape machine_shape(const KernelFiles& kernel, std::span<const int> allowed);

}  // namespace logjam::platform
