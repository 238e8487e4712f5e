// Removing the files of a log that no recovery needs: those that its manifest calls removable, and
// the segments of its runs that have been released.
//
// A file is removed only if it proves that it is the log's. A log file has the run's number in its
// header, or holds only zeros. A checkpoint's directory has a file `id` with the checkpoint's id,
// and a run's directory has one with the log's id. All other files in these directories are left
// alone, and so are their directories. Removal may stop at any step and be repeated: the file that
// proves is removed last. The caller holds the log's directories alone.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "logging/format/manifest.h"

namespace logjam {

struct RemovedFiles {
  std::vector<Removable> gone;     // of which nothing is left
  std::vector<std::string> notes;  // a sentence for each file that is left alone, or not removed
  uint64_t bytes = 0;              // how many bytes the removed files had
};

// Removes the files of each Removable. Calls `after_step` after each removal, for tests.
RemovedFiles remove_files(
    const std::vector<std::string>& directories, const std::vector<Removable>& removable,
    const std::function<void()>& after_step = [] {});
// Removes the segments of the run that it has released. Returns how many bytes they had.
uint64_t remove_released(const std::vector<std::string>& directories, const ManifestRun& run);

// Creates the directory, with a file that names its owner `id`. Returns 0 or errno.
int make_directory_of(const std::string& path, uint64_t id);
// Returns whether the directory has a file that names an owner.
bool has_proof(const std::string& directory);
// Removes the directory of a run that a killed process has created before the manifest of `log` had
// the run. Returns whether `path` is free then.
bool remove_abandoned_run(const std::string& path, uint64_t log);

}  // namespace logjam
