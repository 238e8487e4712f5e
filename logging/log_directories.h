// The directories of a run's log, and how a log begins in them. Either a new log begins, which may
// replace an earlier log, or a run continues the log that is there.
//
// Protocol. A crash at any moment leaves the log as it was, or the log with the new run, which is
// empty. The steps are in this order, and each is durable before the next one begins:
//
//   1. The steps that may refuse come first: take the locks, search for a log, open the log files,
//      and make the run's other output files (LogOptions::before_replace). A new log file is
//      created without a header, and a recycled log file keeps its bytes. Preallocated segments are
//      created, or extended with zeros. A run that continues a log has new directories for its
//      files. Then the member files and the new manifest are written, under another name, so that a
//      full disk is noticed here. A refusal removes all that was created.
//   2. The new manifest replaces the earlier manifest (logging/format/manifest_file.h). The new
//      manifest says that the run has not begun: the run counts as empty, whatever its files
//      contain. The new manifest also lists the files that are removable.
//   3. Segments that the new log cannot use are removed: each segment that is shorter than the new
//      log's segments, and all segments after it. Then the headers of the new run's files are
//      written, and the removable files are removed (logging/format/remove_files.h).
//   4. The manifest says that the run has begun. Records are written only after this step.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "logging/directory_locks.h"
#include "logging/format/manifest_file.h"
#include "platform/fatal.h"

namespace logjam {

// The log that a run continues.
struct ContinuedLog {
  // Outlives the run. The caller has locked the log's directories.
  LogManifest* manifest = nullptr;
  // Writes the results of the recovery before the run into the manifest: the ends of the earlier
  // runs, and the removable files. Called when the run enters the manifest.
  std::function<void(Manifest&)> found = [](Manifest&) {};
};

class LogDirectories {
 public:
  // Performs step 1 up to the opening of the log files. Creates missing directories. Locks all
  // directories until the object is destroyed. Refuses if a directory cannot be used or, unless
  // `overwrite`, has a log. If not null, `continued` is the log that the run continues.
  LogDirectories(const std::vector<std::string>& directories, const ContinuedLog* continued,
                 bool overwrite);

  uint64_t log() const { return manifest_->current().log; }
  uint32_t ordinal() const { return ordinal_; }
  const std::vector<std::string>& directories_of_run() const { return directories_of_run_; }
  // Returns a random number that is not the number of a run or of a removable run in the manifest.
  // (With the same seed, a simulated machine chooses the same number again.)
  uint64_t new_run() const;
  // Returns the manifest of the log, which has the run only after replace().
  LogManifest& manifest() { return *manifest_; }

  // Ends the process if a directory of the log, or of the run, was moved: a later command would not
  // find the transactions that this run acknowledges. Any thread may call it.
  void fail_if_moved() const;

  // Announces the log files that the caller is about to open in the directories of the run. Each
  // file has `segments` preallocated segments of `segment_bytes`, or none if `segment_bytes` is 0.
  void will_open(const std::vector<std::string>& files, uint64_t segment_bytes, uint64_t segments);

  // Performs the end of step 1, and steps 2 to 4, for a run with this header. `history` says
  // whether the run keeps a history. `write_headers` makes the headers of all files durable. Calls
  // `replaced` after step 2, and `after_step` after each durable change.
  void replace(const LogFileHeader& header, bool history,
               const std::function<void()>& write_headers, const std::function<void()>& replaced,
               const std::function<void()>& after_step);

 private:
  void begin_log(bool overwrite);
  void hold(const std::vector<std::string>& directories);
  void refuse_log(const FoundManifest& found) const;
  void continue_log(const ContinuedLog& continued);
  void fit_segments(const std::function<void()>& after_step) const;
  std::vector<std::string> paths_of_files() const;
  void undo();

  const std::vector<std::string> directories_;
  uint32_t ordinal_ = 1;
  std::vector<std::string> directories_of_run_;
  std::function<void(Manifest&)> found_ = [](Manifest&) {};
  std::unique_ptr<LogManifest> own_;  // the manifest of a new log
  LogManifest* manifest_ = nullptr;

  std::vector<std::string> files_;
  uint64_t segment_bytes_ = 0, segments_ = 0;
  std::vector<std::string> created_;  // directories that this object has made, outermost first
  // The lengths of the files and segment files that existed before the run. No file is changed
  // until these lengths are known.
  std::optional<std::map<std::string, uint64_t>> lengths_;
  std::unique_ptr<DirectoryLocks> locks_;
  // The directories of the log, which the caller may have locked, and of the run.
  std::vector<platform::HeldDirectory> held_;
  // The last member is destroyed first, so the locks are still held while the undo runs.
  platform::Undo undo_;
};

}  // namespace logjam
