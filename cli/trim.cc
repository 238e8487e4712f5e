// `logjam trim`: removes the files of a log that no recovery needs. Works on a full disk, too.
#include <glog/logging.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/options.h"
#include "logging/directory_locks.h"
#include "logging/format/manifest_file.h"
#include "logging/format/remove_files.h"

namespace logjam {

int trim_command() {
  const std::vector<std::string> directories = wal_directories();
  const DirectoryLocks locks(directories, DirectoryUse::kWrite);
  const FoundManifest found = find_manifest(directories);
  refuse_if(found.error);
  LogManifest log(found.directories, found.manifest);
  // Recoveries use neither incomplete checkpoints nor runs that have not begun, so their files are
  // removed before the manifest is written. On a full disk, a new manifest needs the freed space.
  Manifest trimmed = found.manifest;
  trimmed.remove_unfinished();
  const RemovedFiles removed = remove_files(found.directories, trimmed.removable);
  uint64_t bytes = removed.bytes;
  for (const ManifestRun& run : trimmed.runs) bytes += remove_released(found.directories, run);
  for (const std::string& note : removed.notes) LOG(WARNING) << note;
  const int error = log.prepare([&](Manifest& manifest) {
    manifest.remove_unfinished();
    std::erase_if(manifest.removable, [&removed](const Removable& one) {
      return std::ranges::count(removed.gone, one) != 0;
    });
  });
  if (error == 0) {
    log.commit();
  } else {
    log.undo();
    LOG(WARNING) << "the manifest still names what was removed: it cannot be written: "
                 << strerror(error);
  }
  std::printf("trimmed                %zu runs and checkpoints, %lu bytes\n", removed.gone.size(),
              bytes);
  return 0;
}

}  // namespace logjam
