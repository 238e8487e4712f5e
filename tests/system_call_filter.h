// System calls that fail, on a machine where they would not.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <span>

#include "platform/fatal.h"

namespace logjam {

// Filters the system calls of this thread, and of the threads that it starts. The thread cannot
// leave the filter, so only a death test calls this function. Ends the process if the machine does
// not let it filter.
inline void filter_system_calls(std::span<sock_filter> filter) {
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    platform::fatal("this machine does not let a process filter its own system calls");
  }
}

}  // namespace logjam
