// `run --continue`: the log that a run continues, and how the run's own log follows it. The main
// thread calls these functions.
#pragma once

#include <string>
#include <vector>

#include "cli/recovered_log.h"
#include "cli/settings.h"
#include "logging/directory_locks.h"

namespace logjam {

// The log that a run continues. Locks its directories for as long as the object lives, and takes
// the flags that shape the workload's tables from the log, so it comes before run_settings().
struct Continued {
  explicit Continued(const std::vector<std::string>& directories)
      : locks(directories, DirectoryUse::kWrite), chain(open_log(directories)) {}

  const DirectoryLocks locks;
  const LogChain chain;
  RecoveredChain recovered = {};
};

// Recovers the database, and makes everything durable on which the new run builds. A process that
// was killed may have left records that are in the kernel's cache and on no device.
void recover_continued(const Settings& settings, Continued* continued);

// Puts the new run into the directories of its ordinal, and the run before it into its header.
void follow(const Continued& continued, LogOptions* log);

}  // namespace logjam
