#include "logging/log_directories.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "logging/device/write_file.h"
#include "logging/format/run_directories.h"
#include "logging/format/segments.h"

namespace logjam {
namespace {

std::string temporary(const std::string& path) { return path + ".new"; }

[[noreturn]] void refuse_unreadable(const std::string& what, int error) {
  platform::refuse("cannot list the " + what + ": " + strerror(error));
}

}  // namespace

LogDirectories::LogDirectories(const std::vector<std::string>& directories,
                               const std::vector<std::string>& files, uint64_t segment_bytes,
                               bool overwrite)
    : directories_(directories),
      files_(files),
      segment_bytes_(segment_bytes),
      undo_([this] { undo(); }) {
  create_missing();
  locks_ = std::make_unique<DirectoryLocks>(directories_, DirectoryUse::kWrite);
  if (!overwrite) refuse_log();
  std::map<std::string, uint64_t> lengths;
  for (const std::string& path : paths_of_files()) {
    std::error_code error;
    const uint64_t length = std::filesystem::file_size(path, error);
    if (!error) lengths[path] = length;
  }
  lengths_ = std::move(lengths);
}

// Returns the paths of the log's files and of their segment files.
std::vector<std::string> LogDirectories::paths_of_files() const {
  std::vector<std::string> paths;
  for (const std::string& file : files_) {
    paths.push_back(file);
    std::vector<SegmentFile> segments;
    const int error = segment_files_of(file, &segments);
    // Later, when this run has made segments itself, it is too late to refuse.
    if (error != 0 && !lengths_) refuse_unreadable("segments of " + file, error);
    if (error != 0) continue;
    for (const SegmentFile& segment : segments) {
      paths.push_back(segment_path(file, segment.index));
    }
  }
  return paths;
}

void LogDirectories::create_missing() {
  for (const std::string& directory : directories_) {
    std::error_code error;
    std::vector<std::string> missing;
    for (std::filesystem::path path = directory;
         !path.empty() && !std::filesystem::exists(path, error); path = path.parent_path()) {
      missing.push_back(path);
    }
    created_.insert(created_.end(), missing.rbegin(), missing.rend());
    std::filesystem::create_directories(directory, error);
    if (error) {
      platform::refuse("cannot create the log directory " + directory + ": " + error.message());
    }
  }
}

void LogDirectories::refuse_log() const {
  constexpr const char* kAdvice = "; --overwrite replaces it";
  for (const std::string& directory : directories_) {
    std::vector<std::string> paths;
    LogFileHeader starting;
    std::string unreadable;
    if (starting_log(directory, &starting, &unreadable)) {
      paths.push_back(starting_file_path(directory));
    }
    if (!unreadable.empty()) platform::refuse(unreadable);
    std::vector<std::pair<uint32_t, std::string>> files;
    std::vector<SegmentFile> segments;
    int error = log_files_in(directory, &files);
    if (error == 0) error = segment_files_in(directory, &segments);
    if (error != 0) refuse_unreadable("log directory " + directory, error);
    for (const auto& [stream, path] : files) {
      if (!log_file_is_blank(path)) paths.push_back(path);
    }
    // Segment files whose log file is lost are a log that cannot be read.
    for (const SegmentFile& segment : segments) {
      if (!std::filesystem::exists(segment.log_file)) paths.push_back(segment.log_file);
    }
    if (const auto continued = continued_in(directory); paths.empty() && !continued.empty()) {
      platform::refuse("the log directory " + directory + " holds a log with " + continued[0] +
                       "; --continue goes on with it, --overwrite replaces it");
    }
    if (paths.empty()) continue;
    LogFileHeader header;
    if (const std::string why = read_log_file_header(paths[0], &header); !why.empty()) {
      platform::refuse("the log directory " + directory + " holds a log that cannot be read (" +
                       why + ")" + kAdvice);
    }
    platform::refuse("the log directory " + directory + " holds a log of " + header.origin() +
                     kAdvice);
  }
}

// Removes what this run has added. The refusal has left the earlier log as it was.
void LogDirectories::undo() {
  for (const std::string& path : lengths_ ? paths_of_files() : std::vector<std::string>()) {
    std::error_code ignored;
    const auto length = lengths_->find(path);
    if (length == lengths_->end()) {
      std::filesystem::remove(path, ignored);
    } else if (std::filesystem::file_size(path, ignored) != length->second) {
      std::filesystem::resize_file(path, length->second, ignored);
    }
  }
  std::for_each(created_.rbegin(), created_.rend(), [](const std::string& path) {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  });
}

void LogDirectories::sync() const {
  if (const int error = locks_->sync(); error != 0) {
    platform::fatal(std::string("cannot sync the log directories: ") + strerror(error));
  }
}

void LogDirectories::write_starting_file(const std::string& directory,
                                         const std::vector<std::byte>& block) {
  const std::string path = starting_file_path(directory);
  const auto refuse = [&path](int error) {
    platform::refuse("cannot write " + path + ": " + strerror(error));
  };
  created_.push_back(temporary(path));
  const int fd = open(temporary(path).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) refuse(errno);
  int error = write_fully(fd, 0, block);
  if (error == 0 && fsync(fd) != 0) error = errno;
  close(fd);
  if (error != 0) refuse(error);
}

void LogDirectories::replace(const LogFileHeader& header,
                             const std::function<void()>& write_headers,
                             const std::function<void()>& after_step) {
  const std::vector<std::byte> block = header.encode();
  // The last chance to refuse: a full disk has no room for these files.
  for (const std::string& directory : directories_) {
    write_starting_file(directory, block);
    after_step();
  }
  undo_.forget();
  for (const std::string& directory : directories_) {
    const std::string path = starting_file_path(directory);
    if (rename(temporary(path).c_str(), path.c_str()) != 0) {
      platform::fatal("cannot rename a file to " + path + ": " + strerror(errno));
    }
    sync();
    after_step();
  }

  fit_segments(after_step);
  write_headers();
  for (const std::string& directory : directories_) {
    std::vector<std::pair<uint32_t, std::string>> found;
    if (const int error = log_files_in(directory, &found); error != 0) {
      platform::fatal("cannot list the log directory " + directory + ": " + strerror(error));
    }
    for (const auto& [stream, path] : found) {
      if (std::ranges::find(files_, log_file_path(directory, stream)) != files_.end()) continue;
      if (unlink(path.c_str()) != 0) {
        platform::fatal("cannot remove the earlier log's file " + path + ": " + strerror(errno));
      }
      after_step();
    }
  }
  remove_continued(after_step);
  sync();

  for (const std::string& directory : directories_) {
    const std::string path = starting_file_path(directory);
    if (unlink(path.c_str()) != 0) {
      platform::fatal("cannot remove " + path + ": " + strerror(errno));
    }
    after_step();
  }
  sync();
  after_step();
}

void LogDirectories::remove_continued(const std::function<void()>& after_step) const {
  for (const std::string& directory : directories_) {
    for (const std::string& path : continued_in(directory)) {
      std::error_code error;
      std::filesystem::remove_all(path, error);
      if (error) {
        platform::fatal("cannot remove the earlier log's " + path + ": " + error.message());
      }
      after_step();
    }
  }
}

// Runs before the headers are written, because the log's files may grow from then on.
void LogDirectories::fit_segments(const std::function<void()>& after_step) const {
  std::vector<SegmentFile> segments;
  for (const std::string& directory : directories_) {
    std::vector<SegmentFile> found;
    if (const int error = segment_files_in(directory, &found); error != 0) {
      platform::fatal("cannot list the log directory " + directory + ": " + strerror(error));
    }
    std::ranges::copy(found, std::back_inserter(segments));
  }
  std::map<std::string, uint64_t> kept;  // of each log file, how many of its segment files
  for (const std::string& file : files_) {
    const uint64_t bytes = std::filesystem::file_size(file);
    if (segment_bytes_ != 0) shorten(file, bytes);
    kept[file] = 0;
  }
  for (const SegmentFile& segment : segments) {
    const std::string path = segment_path(segment.log_file, segment.index);
    const auto of_file = kept.find(segment.log_file);
    if (segment_bytes_ != 0 && segment.bytes >= segment_bytes_ && of_file != kept.end() &&
        segment.index == of_file->second + 1) {
      shorten(path, segment.bytes);
      ++of_file->second;
    } else {
      if (unlink(path.c_str()) != 0) {
        platform::fatal("cannot remove the earlier log's file " + path + ": " + strerror(errno));
      }
    }
    after_step();
  }
}

void LogDirectories::shorten(const std::string& path, uint64_t bytes) const {
  if (bytes <= segment_bytes_) return;
  if (truncate(path.c_str(), static_cast<off_t>(segment_bytes_)) != 0) {
    platform::fatal("cannot shorten the earlier log's file " + path + ": " + strerror(errno));
  }
}

}  // namespace logjam
