// The run delay of threads: for how long they could have run, but the kernel gave their cores to
// other threads. The kernel counts it for each thread (/proc/*/schedstat, second number).
//
// The kernel writes the files, and any thread reads them.
#pragma once

#include <cstdint>
#include <vector>

#include "platform/mutex.h"

namespace logjam::platform {

class RunDelay {
 public:
  RunDelay() = default;
  RunDelay(const RunDelay&) = delete;
  RunDelay& operator=(const RunDelay&) = delete;
  ~RunDelay();

  // Returns whether the kernel counts run delays. Any thread may call it.
  static bool counted();

  // Adds the calling thread to the threads that ns() is the sum of. Any thread may call it, once.
  void add_this_thread();
  // Returns the sum of the run delays of all added threads that have not ended, in nanoseconds
  // since they started. Costs a system call for each. Any thread may call it.
  uint64_t ns() const;

 private:
  mutable mutex mutex_;
  std::vector<int> files_ LJ_GUARDED_BY(mutex_);
};

}  // namespace logjam::platform
