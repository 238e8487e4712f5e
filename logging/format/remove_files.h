// Removes files that no recovery needs: a log's removable files, and its runs' released segments.
//
// A file is removed only if there is proof that it belongs to the log. The proof in a log file is
// the run's number in its header, or that the file has only zeros. The proof in a directory is a
// file `id` with the id of the checkpoint or, for a run, of the log. All other files stay, and so
// do their directories. Removal may stop at any step and be repeated: the proof is removed last. No
// other process uses the log meanwhile.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "logging/format/manifest.h"

namespace logjam {

struct RemovedFiles {
  std::vector<Removable> gone;     // removed completely
  std::vector<std::string> notes;  // a sentence for each file that was not removed
  uint64_t bytes = 0;              // how many bytes the removed files had
};

// Removes the files of each Removable. Calls `after_step` after each removal, for tests.
RemovedFiles remove_files(
    const std::vector<std::string>& directories, const std::vector<Removable>& removable,
    const std::function<void()>& after_step = [] {});
// Removes the released segments of `run`. Returns how many bytes these segments had.
uint64_t remove_released(const std::vector<std::string>& directories, const ManifestRun& run);

// Creates the directory `path`, with a file that names its owner `id`. Returns 0 or errno.
int make_directory_of(const std::string& path, uint64_t id);
// Returns whether the directory has a file that names an owner.
bool has_proof(const std::string& directory);
// Removes the run's directory `path` if a killed process created it before the manifest of `log`
// had the run. Returns whether `path` is free.
bool remove_abandoned_run(const std::string& path, uint64_t log);

}  // namespace logjam
