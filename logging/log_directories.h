// The directories of a run's log, and how they pass from an earlier log to a new one.
//
// Protocol. A crash at any moment leaves the earlier log or the new one, which is empty, and never
// files of both. The steps are in this order, and each is durable before the next one begins:
//
//   1. Everything that may be refused: the locks, the question whether a log is there, opening the
//      log files, and the run's other output files (LogOptions::before_replace). A new log file is
//      created without a header, and a recycled one keeps its bytes; recovery ignores files that
//      hold only zeros. Segments that are preallocated are created, or extended with zeros. The
//      earlier log is whole. A refusal removes what was created.
//   2. A *starting file* in every directory. It holds the new log's header. Recovery believes it
//      when all of its directories have one: the log is then the new one, and is empty. Until the
//      last starting file exists, the earlier log counts, and no byte of it has changed.
//   3. The removal of segments that the new log cannot use: each segment that is shorter than the
//      new log's segments, and all segments after it, so that from here on no segment comes after
//      one that is too short. Then the headers of the new log's files, and the removal of the
//      earlier log's other files, of its later runs and of its checkpoints
//      (logging/format/run_directories.h). The state of these files in between does not matter,
//      because the starting files count.
//   4. The removal of the starting files. All headers are written, so they say what the starting
//      files said. Records are written only after this step.
//
// A run may find the starting files of another run that crashed in step 2, 3 or 4. Then the
// directories hold no log with records, and all starting files, of any run, stand for an empty log.
// They are replaced by rename(), so each is whole at all times.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "logging/directory_locks.h"
#include "logging/format/log_file.h"
#include "platform/fatal.h"

namespace logjam {

// The main thread makes it and calls its functions.
class LogDirectories {
 public:
  // Takes step 1. Creates the directories that are missing, and locks all of them until it is
  // destroyed. Refuses if one cannot be used or, unless `overwrite`, holds a log. `files` are the
  // paths of the new log's files, which the caller opens before it calls replace(). They have
  // segments of `segment_bytes`, or none if that is 0.
  LogDirectories(const std::vector<std::string>& directories, const std::vector<std::string>& files,
                 uint64_t segment_bytes, bool overwrite);

  // Takes steps 2 to 4. `write_headers` writes the headers of all files and makes them durable.
  // `header` is the header of any of the files. For tests, calls `after_step` after each durable
  // change.
  void replace(const LogFileHeader& header, const std::function<void()>& write_headers,
               const std::function<void()>& after_step);

 private:
  void create_missing();
  void refuse_log() const;
  // Removes the earlier log's segment files that the new log cannot use, and cuts the others to its
  // length.
  void fit_segments(const std::function<void()>& after_step) const;
  // Removes the later runs and the checkpoints of the earlier log.
  void remove_continued(const std::function<void()>& after_step) const;
  void shorten(const std::string& path, uint64_t bytes) const;
  void write_starting_file(const std::string& directory, const std::vector<std::byte>& block);
  std::vector<std::string> paths_of_files() const;
  void undo();
  void sync() const;

  const std::vector<std::string> directories_, files_;
  const uint64_t segment_bytes_;
  std::vector<std::string> created_;  // by this object or for it, outermost first
  // The lengths of the files and segment files that existed before, once they are known. Until then
  // no file is changed.
  std::optional<std::map<std::string, uint64_t>> lengths_;
  platform::RefusalUndo undo_;
  std::unique_ptr<DirectoryLocks> locks_;
};

}  // namespace logjam
