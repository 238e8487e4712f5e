// The processor time and the context switches of this process.
#pragma once

#include <cstdint>

namespace logjam::platform {

struct ProcessUse {
  double cpu_seconds = 0;                   // user and system time of all threads
  double system_seconds = 0;                // the part of it in the kernel
  uint64_t voluntary = 0, involuntary = 0;  // context switches

  ProcessUse since(const ProcessUse& earlier) const {
    return {cpu_seconds - earlier.cpu_seconds, system_seconds - earlier.system_seconds,
            voluntary - earlier.voluntary, involuntary - earlier.involuntary};
  }
};

// Returns the use of the process since it started. Any thread may call it.
ProcessUse process_use();

}  // namespace logjam::platform
