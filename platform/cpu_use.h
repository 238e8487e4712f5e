// How much processor time other programs use on the cores that this process may use. The main
// thread calls these functions before it starts other threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "platform/mutex.h"

namespace logjam::platform {

// Returns the seconds that all programs have used on `cores` since boot, from a text of /proc/stat.
double used_seconds(const std::string& proc_stat, std::span<const int> cores);

// Waits for up to 200 ms, on a busy machine for 20 ms. Returns whether other programs used less
// than a tenth of the processor time that `workers` workers could have.
// The limit is a tenth, because workers in the idle class lose the processor time that other
// programs use. The services of an idle machine use one percent, far less than a tenth. A compiler
// or another run uses a whole core.
// The wait takes 200 ms, because the kernel counts in units of 10 ms, and a tenth of one core
// should exceed a unit.
bool others_are_idle(uint32_t workers);

// The run delay of threads: for how long they could have run, but the kernel gave their cores to
// other threads. The kernel counts it for each thread (/proc/*/schedstat, second number).
class RunDelay {
 public:
  RunDelay() = default;
  RunDelay(const RunDelay&) = delete;
  RunDelay& operator=(const RunDelay&) = delete;
  ~RunDelay();

  // Returns whether the kernel counts run delays.
  static bool counted();

  // Adds the calling thread's run delay to ns(). A thread calls this function once.
  void add_this_thread();
  // Returns the sum of the run delays of all added threads that have not ended, each since the
  // thread's start. Costs a system call for each thread.
  uint64_t ns() const;

 private:
  mutable mutex mutex_;
  std::vector<int> files_ LJ_GUARDED_BY(mutex_);
};

}  // namespace logjam::platform
