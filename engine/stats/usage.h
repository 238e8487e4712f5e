// The processor time and the context switches of this process.
#pragma once

#include <cstdint>

namespace logjam {

struct Usage {
  double cpu_seconds = 0;                   // user and system time of all threads
  uint64_t voluntary = 0, involuntary = 0;  // context switches

  Usage since(const Usage& earlier) const {
    return {cpu_seconds - earlier.cpu_seconds, voluntary - earlier.voluntary,
            involuntary - earlier.involuntary};
  }
};

// What the process has used since it started. Any thread may call it.
Usage usage_now();

}  // namespace logjam
