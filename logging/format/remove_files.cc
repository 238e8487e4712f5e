#include "logging/format/remove_files.h"

#include <cerrno>

#include "logging/format/log_file.h"
#include "logging/format/segments.h"
#include "platform/files.h"

namespace logjam {
namespace {

constexpr std::string_view kIdLine = "logjam directory 1";

std::string id_path(const std::string& directory) { return directory + "/id"; }

std::string id_text(uint64_t id) { return encode_text_block(kIdLine, {{"id", hex(id)}}); }

// Removes the files of one entry from one directory.
class Removal {
 public:
  Removal(RemovedFiles* removed, const std::function<void()>& after_step)
      : removed_(*removed), after_step_(after_step) {}

  // Returns whether no file of the entry is left.
  bool run(const std::string& directory, const Removable& run) {
    whole_ = true;
    const std::string path = run_directory(directory, static_cast<uint32_t>(run.number));
    if (!list(path)) return whole_;
    std::vector<std::pair<uint32_t, std::string>> files;
    if (const int error = log_files_in(path, &files); error != 0) cannot("list", path, error);
    for (const auto& [stream, file] : files) {
      LogFileHeader header;
      const bool ours = read_log_file_header(file, &header).empty() ? header.run == run.id
                                                                    : log_file_is_blank(file);
      // Run 1 lies in the log's own directories. Files of these names may be another log's.
      if (!ours && run.number == 1) continue;
      if (!ours) {
        leave(file + " is not of this log, and is left alone");
        continue;
      }
      std::vector<SegmentFile> segments;
      if (const int error = segment_files_of(file, &segments); error != 0) {
        cannot("list the segments of", file, error);
        continue;
      }
      for (const SegmentFile& segment : segments) remove(segment_path(file, segment.index));
      remove(file);
    }
    if (run.number == 1 || !list(path)) return whole_;
    if (names_ == std::vector<std::string>{"id"}) remove(id_path(path));
    remove_directory(path);
    return whole_;
  }

  bool checkpoint(const std::string& directory, const Removable& checkpoint) {
    whole_ = true;
    const std::string path = checkpoint_directory(directory, checkpoint.number);
    if (!list(path)) return whole_;
    std::string id;
    platform::read_file(id_path(path), &id);
    if (!names_.empty() && id != id_text(checkpoint.id)) {
      leave(path + " is not of this log, and is left alone");
      return whole_;
    }
    for (const std::string& name : names_) {
      if (name.starts_with("rows-")) remove(path + "/" + name);
    }
    remove(id_path(path));
    remove_directory(path);
    return whole_;
  }

 private:
  // Returns false if the directory is not there, or cannot be listed.
  bool list(const std::string& path) {
    const int error = platform::files().list(path, &names_);
    if (error == 0) return true;
    if (error == ENOTDIR) {
      leave(path + " is not of this log, and is left alone");
    } else if (error != ENOENT) {
      cannot("list", path, error);
    }
    return false;
  }

  void remove(const std::string& path) {
    platform::FileStatus status;
    platform::files().status(path, &status);
    const int error = platform::files().remove(path);
    if (error == 0) {
      removed_.bytes += status.bytes;
      after_step_();
    } else if (error != ENOENT) {
      cannot("remove", path, error);
    }
  }

  void remove_directory(const std::string& path) {
    const int error = platform::files().remove_directory(path);
    if (error == 0) return after_step_();
    if (error == ENOENT) return;
    leave(error == ENOTEMPTY ? path + " has files that are not of this log, and is left alone"
                             : "cannot remove " + path + ": " + platform::error_text(error));
  }

  void cannot(const char* what, const std::string& path, int error) {
    leave(std::string("cannot ") + what + " " + path + ": " + platform::error_text(error));
    whole_ = false;
  }
  void leave(const std::string& note) { removed_.notes.push_back(note); }

  RemovedFiles& removed_;
  const std::function<void()>& after_step_;
  std::vector<std::string> names_;
  bool whole_ = true;
};

}  // namespace

RemovedFiles remove_files(const std::vector<std::string>& directories,
                          const std::vector<Removable>& removable,
                          const std::function<void()>& after_step) {
  RemovedFiles removed;
  Removal removal(&removed, after_step);
  for (const Removable& one : removable) {
    bool gone = true;
    for (const std::string& directory : directories) {
      const bool run = one.kind == Removable::Kind::kRun;
      gone &= run ? removal.run(directory, one) : removal.checkpoint(directory, one);
    }
    if (gone) removed.gone.push_back(one);
  }
  return removed;
}

uint64_t remove_released(const std::vector<std::string>& directories, const ManifestRun& run) {
  const LogFileHeader& header = run.header;
  if (header.segment_bytes == 0 || run.released.empty()) return 0;
  const auto paths =
      log_file_paths(run_directories(directories, run.ordinal()), header.streams, header.stripes);
  const Stripes stripes{header.stripes, header.stripe_bytes};
  uint64_t bytes = 0;
  for (uint32_t file = 0; file < paths.size(); ++file) {
    const uint64_t position = run.released[file / header.stripes];
    const uint64_t end = stripes.file_end(file % header.stripes, position);
    std::vector<SegmentFile> segments;
    if (segment_files_of(paths[file], &segments) != 0) continue;
    for (const SegmentFile& segment : segments) {
      if (segment.index >= Segments{header.segment_bytes}.index(end)) continue;
      if (platform::files().remove(segment_path(paths[file], segment.index)) == 0) {
        bytes += segment.bytes;
      }
    }
  }
  return bytes;
}

int make_directory_of(const std::string& path, uint64_t id) {
  int error = platform::files().make_directory(path);
  if (error == 0) error = platform::sync_parent(path);
  if (error == 0) error = platform::replace_file(id_path(path), id_text(id));
  return error;
}

bool has_proof(const std::string& directory) {
  std::string id;
  return platform::read_file(id_path(directory), &id) == 0 && id.starts_with(kIdLine);
}

bool remove_abandoned_run(const std::string& path, uint64_t log) {
  std::vector<std::string> names;
  std::string id;
  if (platform::files().list(path, &names) != 0) return false;
  platform::read_file(id_path(path), &id);
  if (id != id_text(log)) {
    // Removes the file of a process that was killed right after it had created the directory.
    if (names == std::vector<std::string>{"id.new"}) platform::files().remove(path + "/id.new");
  } else {
    // A header is written after the run is in the manifest. So if a header names this log, the
    // manifest without the run is old, and the directory must stay.
    if (!log_file_of(log, path).empty()) return false;
    for (const std::string& name : names) {
      if (name.starts_with("stream-")) platform::files().remove(path + "/" + name);
    }
    platform::files().remove(id_path(path));
  }
  return platform::files().remove_directory(path) == 0;
}

}  // namespace logjam
