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
      : locks(directories, DirectoryUse::kWrite),
        chain(open_log(directories)),
        manifest(chain.directories, chain.manifest) {}

  // Returns the ordinal of the last run that left something, or 0 if there is none: a process was
  // killed while it began a new log.
  uint32_t after() const {
    const ManifestRun* last = chain.manifest.run(chain.ordinal);
    return last != nullptr && !last->begun ? 0 : chain.ordinal;
  }

  const DirectoryLocks locks;
  const LogChain chain;
  LogManifest manifest;
  RecoveredChain recovered = {};
  // The log that the run continues, as the run's own log is told of it.
  ContinuedLog log = {
      .manifest = &manifest,
      .found = [this](Manifest& found) { settle(recovered, &found); },
  };
};

// Recovers the database. Refuses a log that cannot be continued.
void recover_continued(const Settings& settings, Continued* continued);

}  // namespace logjam
