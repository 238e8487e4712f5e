// Which files a run of a log has. Any thread may call these functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "logging/format/log_file.h"
#include "logging/format/manifest.h"
#include "logging/format/stream_tail.h"

namespace logjam {

// The log files of one run.
struct LogFiles {
  // By stream: the stream's files in stripe order. A stream without files is empty. All streams are
  // empty if the run has not begun.
  std::vector<std::vector<std::string>> paths;
  LogFileHeader header;  // of the run
  std::string error;     // why the files cannot be used, or empty
  // By stream: where a recovery begins to read it. Empty: each stream is read from position 0.
  std::vector<StreamStart> starts = {};
  // By stream: where a recovery ends to read it (ManifestRun::ends). Empty: at its end.
  std::vector<uint64_t> ends = {};

  StreamStart start(size_t stream) const { return starts.empty() ? StreamStart{} : starts[stream]; }
};

// Returns the files of a run of the log in `directories`. Looks at no file.
LogFiles files_of_run(const std::vector<std::string>& directories, const ManifestRun& run);
// Returns an empty string, or in one sentence which files of the run are missing, or have not its
// header. Sets `missing`, unless it is null, to whether a file is missing. Fails if a
// file cannot be read.
std::string check_files(const LogFiles& files, bool* missing = nullptr);
// Returns the files of the last run of the log in `directories`, which may be in any order. Sets
// `error` to one sentence if there is no log, or if check_files() finds something wrong.
LogFiles find_log_files(const std::vector<std::string>& directories);

}  // namespace logjam
