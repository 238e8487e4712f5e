// The cores and caches of this machine, as the kernel describes them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "platform/kernel_files.h"

namespace logjam::platform {

// 0 stands for a number that the kernel does not tell.
struct CacheShape {
  uint64_t kib = 0;
  uint32_t ways = 0;
};

struct MachineShape {
  std::string name;  // of the processor
  std::string kernel;
  int sockets = 1;
  int cores = 1;     // the allowed cores of the first allowed core's socket
  int contexts = 1;  // hardware contexts of the first allowed core
  CacheShape l1, l2, l3;
  // The partners of the first allowed core, by their places in the list of allowed cores (the
  // numbers of pin_to_core()). -1: none.
  int same_socket = -1;   // another core of the same socket
  int sibling = -1;       // another context of the same core
  int other_socket = -1;  // a core of another socket
};

// Reads /proc and /sys. `allowed` are the kernel's numbers of the cores to look at, not empty.
MachineShape machine_shape(const KernelFiles& kernel, std::span<const int> allowed);

}  // namespace logjam::platform
