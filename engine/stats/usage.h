// What the process has used of the machine so far.
#pragma once

#include <cstdint>

namespace logjam {

struct Usage {
  double cpu_seconds = 0;                   // user and system, of all threads
  uint64_t voluntary = 0, involuntary = 0;  // context switches

  Usage since(const Usage& earlier) const {
    return {cpu_seconds - earlier.cpu_seconds, voluntary - earlier.voluntary,
            involuntary - earlier.involuntary};
  }
};

Usage usage_now();

}  // namespace logjam
