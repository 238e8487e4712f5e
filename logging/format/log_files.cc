#include "logging/format/log_files.h"

#include <cerrno>

#include "logging/format/manifest_file.h"
#include "platform/fatal.h"
#include "platform/files.h"
#include "platform/text.h"

namespace logjam {

LogFiles files_of_run(const std::vector<std::string>& directories, const ManifestRun& run) {
  LogFiles files;
  files.header = run.header;
  files.ends = run.ends;
  files.paths.resize(run.header.streams);
  if (!run.begun) return files;
  const std::vector<std::string> paths = log_file_paths(run_directories(directories, run.ordinal()),
                                                        run.header.streams, run.header.stripes);
  for (size_t file = 0; file < paths.size(); ++file) {
    files.paths[file / run.header.stripes].push_back(paths[file]);
  }
  return files;
}

std::string check_files(const LogFiles& files, bool* missing) {
  constexpr uint64_t kMostNamed = 4;
  std::string wrong;
  uint64_t faults = 0;
  if (missing != nullptr) *missing = false;
  for (uint32_t stream = 0; stream < files.paths.size(); ++stream) {
    for (uint32_t stripe = 0; stripe < files.paths[stream].size(); ++stripe) {
      const std::string& path = files.paths[stream][stripe];
      platform::FileStatus status;
      if (const int error = platform::files().status(path, &status); error != 0) {
        platform::fail("cannot look at the log file " + path + ": " + platform::error_text(error));
      }
      LogFileHeader header;
      int error = 0;
      const bool there = status.kind != platform::FileKind::kNone;
      if (!there && missing != nullptr) *missing = true;
      std::string why = there ? read_log_file_header(path, &header, &error) : path + " is missing";
      if (error != 0) platform::fail(why);
      LogFileHeader expected = files.header;
      expected.stream = stream;
      expected.stripe = stripe;
      if (why.empty() && header.run != expected.run) {
        why = path + " belongs to run " + hex(header.run) + ", not to run " + hex(expected.run);
      } else if (why.empty() && (header.stream != stream || header.stripe != stripe)) {
        why = path + " says it is stripe " + std::to_string(header.stripe) + " of stream " +
              std::to_string(header.stream);
      } else if (why.empty() && header.lines() != expected.lines()) {
        why = path + " has another header than the manifest says";
      }
      if (!why.empty() && ++faults <= kMostNamed) platform::append_part(&wrong, "; ", why);
    }
  }
  if (faults > kMostNamed) wrong += "; and " + std::to_string(faults - kMostNamed) + " more";
  return wrong;
}

LogFiles find_log_files(const std::vector<std::string>& directories) {
  const FoundManifest found = find_manifest(directories);
  LogFiles files;
  files.error = found.error;
  if (files.error.empty() && found.manifest.runs.empty()) files.error = "the log has no run";
  if (!files.error.empty()) return files;
  files = files_of_run(found.directories, found.manifest.runs.back());
  files.error = check_files(files);
  return files;
}

}  // namespace logjam
