#include "logging/log_directories.h"

#include <fcntl.h>
#include <glog/logging.h>

#include <cerrno>
#include <iterator>

#include "logging/format/log_reader.h"
#include "logging/format/remove_files.h"
#include "logging/format/segments.h"
#include "platform/host.h"

namespace logjam {
namespace {

void refuse_on(int error, const std::string& why) {
  if (error != 0) platform::refuse(why + ": " + platform::error_text(error));
}
void fail_on(int error, const std::string& why) {
  if (error != 0) platform::fail(why + ": " + platform::error_text(error));
}

// Sets the length of the file. Returns 0 or errno.
int resize(const std::string& path, uint64_t bytes) {
  const int file = platform::files().open(path, O_WRONLY);
  if (file < 0) return -file;
  const int error = platform::files().resize(file, bytes);
  platform::files().close(file);
  return error;
}

uint64_t length_of(const std::string& path) {
  platform::FileStatus status;
  fail_on(platform::files().status(path, &status), "cannot look at " + path);
  return status.bytes;
}

// Refuses a file that a run must not write into or cannot remove.
void refuse_odd_file(const std::string& path) {
  platform::FileStatus status;
  refuse_on(platform::files().status(path, &status), "cannot look at " + path);
  if (status.kind == platform::FileKind::kNone) return;
  const int odd = status.kind != platform::FileKind::kFile ? EBADFD : status.names > 1 ? EMLINK : 0;
  refuse_on(odd, "cannot use " + path);
}

bool exists(const std::string& path) {
  platform::FileStatus status;
  return platform::files().status(path, &status) != 0 || status.kind != platform::FileKind::kNone;
}

std::vector<SegmentFile> segments_of(const std::string& log_file) {
  std::vector<SegmentFile> segments;
  fail_on(segment_files_of(log_file, &segments), "cannot list the segments of " + log_file);
  return segments;
}

}  // namespace

LogDirectories::LogDirectories(const std::vector<std::string>& directories,
                               const ContinuedLog* continued, bool overwrite)
    : directories_(directories), undo_([this] { undo(); }) {
  if (continued != nullptr) {
    continue_log(*continued);
  } else {
    begin_log(overwrite);
  }
  hold(directories_);
  if (directories_of_run_ != directories_) hold(directories_of_run_);
}

void LogDirectories::hold(const std::vector<std::string>& directories) {
  for (const std::string& directory : directories) {
    refuse_on(held_.emplace_back(directory).error(), "cannot open the log directory " + directory);
  }
}

void LogDirectories::fail_if_moved() const {
  for (const platform::HeldDirectory& one : held_) {
    if (one.still_there()) continue;
    platform::fatal("the log directory " + one.path() +
                    " is not any more where it was; nothing is acknowledged after this, and what "
                    "was acknowledged is in the directory that was there");
  }
}

void LogDirectories::begin_log(bool overwrite) {
  for (const std::string& directory : directories_) {
    refuse_on(platform::make_directories(directory, &created_),
              "cannot create the log directory " + directory);
  }
  locks_ = std::make_unique<DirectoryLocks>(directories_, DirectoryUse::kWrite);
  directories_of_run_ = directories_;
  const FoundManifest found = find_manifest(directories_);
  if (!overwrite) refuse_log(found);
  Manifest manifest;
  manifest.directories = static_cast<uint32_t>(directories_.size());
  // Gives this log's checkpoints larger numbers than any checkpoints that an earlier log left.
  manifest.last_checkpoint = last_checkpoint_in(directories_);
  for (const Manifest& earlier : found.all) {
    manifest.replaced.push_back(earlier.log);
    std::ranges::copy(earlier.replaced, std::back_inserter(manifest.replaced));
    Manifest all = earlier;
    while (!all.runs.empty()) all.remove_run(all.runs.back().ordinal());
    while (!all.checkpoints.empty()) all.remove_checkpoint(all.checkpoints.back().number);
    std::ranges::copy(all.removable, std::back_inserter(manifest.removable));
  }
  do {
    manifest.log = platform::random_number();
  } while (std::ranges::find(manifest.replaced, manifest.log) != manifest.replaced.end());
  own_ = std::make_unique<LogManifest>(directories_, std::move(manifest));
  manifest_ = own_.get();
}

uint64_t LogDirectories::new_run() const {
  const Manifest& manifest = manifest_->current();
  for (;;) {
    const uint64_t drawn = platform::random_number();
    const bool removed = std::ranges::any_of(manifest.removable,
                                             [&](const Removable& one) { return one.id == drawn; });
    const bool kept = std::ranges::any_of(
        manifest.runs, [&](const ManifestRun& run) { return run.header.run == drawn; });
    if (!removed && !kept) return drawn;
  }
}

void LogDirectories::refuse_log(const FoundManifest& found) const {
  constexpr const char* kAdvice = "; --overwrite replaces it";
  const std::string holds = "the log directory " + directories_[0] + " holds a log";
  if (!found.all.empty()) {
    const auto& runs = found.all[0].runs;
    platform::refuse(holds + (runs.empty() ? "" : " of " + runs.back().header.origin()) +
                     "; --continue goes on with it, --overwrite replaces it");
  }
  if (found.lost) {
    platform::refuse(holds + " that cannot be read (" + found.error + ")" + kAdvice);
  }
  // Refuses log files without a manifest: they are a log that cannot be read.
  for (const std::string& directory : directories_) {
    std::vector<std::string> paths;
    std::vector<std::pair<uint32_t, std::string>> files;
    std::vector<SegmentFile> segments;
    int error = log_files_in(directory, &files);
    if (error == 0) error = segment_files_in(directory, &segments);
    refuse_on(error, "cannot list the log directory " + directory);
    for (const auto& [stream, path] : files) {
      if (!log_file_is_blank(path)) paths.push_back(path);
    }
    for (const SegmentFile& segment : segments) {
      if (!exists(segment.log_file)) paths.push_back(segment.log_file);
    }
    if (paths.empty()) continue;
    platform::refuse("the log directory " + directory + " holds " + paths[0] +
                     ", and no manifest says to which log it belongs" + kAdvice);
  }
}

void LogDirectories::continue_log(const ContinuedLog& continued) {
  manifest_ = continued.manifest;
  found_ = continued.found;
  const auto free = [this](const std::string& path) {
    if (!exists(path) || remove_abandoned_run(path, log())) return true;
    LOG(WARNING) << path << " is not of this log, and is left alone";
    return false;
  };
  ordinal_ = manifest_->current().last_ordinal + 1;
  directories_of_run_ = run_directories(directories_, ordinal_);
  while (!std::ranges::all_of(directories_of_run_, free)) {
    directories_of_run_ = run_directories(directories_, ++ordinal_);
  }
  if (ordinal_ > kMostOrdinal) platform::refuse("the log has no number for another run");
  for (const std::string& directory : directories_of_run_) {
    created_.push_back(directory);
    refuse_on(make_directory_of(directory, log()), "cannot create " + directory);
  }
}

void LogDirectories::will_open(const std::vector<std::string>& files, uint64_t segment_bytes,
                               uint64_t segments) {
  files_ = files;
  segment_bytes_ = segment_bytes;
  segments_ = segments;
  std::map<std::string, uint64_t> lengths;
  for (const std::string& path : paths_of_files()) {
    refuse_odd_file(path);
    if (exists(path)) lengths[path] = length_of(path);
  }
  lengths_ = std::move(lengths);
}

std::vector<std::string> LogDirectories::paths_of_files() const {
  std::vector<std::string> paths;
  for (const std::string& file : files_) {
    paths.push_back(file);
    for (const SegmentFile& segment : segments_of(file)) {
      paths.push_back(segment_path(file, segment.index));
    }
  }
  return paths;
}

void LogDirectories::undo() {
  if (manifest_ != nullptr) manifest_->undo();
  for (const std::string& path : lengths_ ? paths_of_files() : std::vector<std::string>()) {
    const auto length = lengths_->find(path);
    if (length == lengths_->end()) {
      platform::files().remove(path);
    } else if (length_of(path) != length->second) {
      resize(path, length->second);
    }
  }
  std::for_each(created_.rbegin(), created_.rend(), [this](const std::string& path) {
    if (manifest_ == nullptr || !remove_abandoned_run(path, log())) {
      platform::files().remove_directory(path);
    }
  });
}

void LogDirectories::replace(const LogFileHeader& header, bool history,
                             const std::function<void()>& write_headers,
                             const std::function<void()>& replaced,
                             const std::function<void()>& after_step) {
  LJ_ASSERT(lengths_ && header.log == log() && header.ordinal == ordinal());
  const int error = manifest_->prepare([&](Manifest& manifest) {
    found_(manifest);
    manifest.last_ordinal = header.ordinal;
    ManifestRun run;
    run.header = header;
    manifest.runs.push_back(std::move(run));
    manifest.lives.push_back({header.ordinal, header.run, history});
  });
  refuse_on(error, "cannot write the manifest of the log in " + directories_[0]);
  after_step();
  undo_.forget();
  manifest_->commit();
  after_step();
  replaced();
  remove_replaced(*manifest_);
  after_step();
  fit_segments(after_step);
  write_headers();
  const RemovedFiles removed =
      remove_files(directories_, manifest_->current().removable, after_step);
  for (const std::string& note : removed.notes) LOG(WARNING) << note;
  manifest_->change([&](Manifest& manifest) {
    manifest.run(header.ordinal)->begun = true;
    manifest.replaced.clear();
    std::erase_if(manifest.removable, [&removed](const Removable& one) {
      return std::ranges::count(removed.gone, one) != 0;
    });
  });
  after_step();
}

// Removes the earlier log's segment files that the new log cannot use or has not preallocated. Cuts
// the other files to the length of the new log's segments. The headers are written only after these
// removals and cuts, because a file may grow once it has a header.
void LogDirectories::fit_segments(const std::function<void()>& after_step) const {
  const auto shorten = [this](const std::string& path, uint64_t bytes) {
    if (bytes <= segment_bytes_) return;
    fail_on(resize(path, segment_bytes_), "cannot shorten the earlier log's file " + path);
  };
  for (const std::string& file : files_) {
    uint64_t kept = 1;
    if (segment_bytes_ != 0) shorten(file, length_of(file));
    for (const SegmentFile& segment : segments_of(file)) {
      const std::string path = segment_path(file, segment.index);
      if (segment_bytes_ != 0 && segment.bytes >= segment_bytes_ && segment.index == kept &&
          kept < segments_) {
        shorten(path, segment.bytes);
        ++kept;
      } else {
        fail_on(platform::files().remove(path), "cannot remove the earlier log's file " + path);
      }
      after_step();
    }
  }
}

}  // namespace logjam
