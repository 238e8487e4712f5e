#include "logging/log_directories.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "logging/device/device_file.h"

namespace logjam {
namespace {

std::string temporary(const std::string& path) { return path + ".new"; }

}  // namespace

LogDirectories::LogDirectories(const std::vector<std::string>& directories,
                               const std::vector<std::string>& files, bool overwrite)
    : directories_(directories), files_(files), undo_([this] { undo(); }) {
  create_missing();
  locks_ = std::make_unique<DirectoryLocks>(directories_, DirectoryUse::kWrite);
  if (!overwrite) refuse_log();
  for (const std::string& file : files_) {
    if (std::error_code ignored; !std::filesystem::exists(file, ignored)) created_.push_back(file);
  }
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
    if (LogFileHeader header; starting_log(directory, &header)) {
      paths.push_back(starting_file_path(directory));
    }
    for (const auto& [stream, path] : log_files_in(directory)) {
      if (!log_file_is_blank(path)) paths.push_back(path);
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

// A refusal has left the earlier log as it was. What this run has added goes again.
void LogDirectories::undo() {
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

  write_headers();
  for (const std::string& directory : directories_) {
    for (const auto& [stream, path] : log_files_in(directory)) {
      if (std::ranges::find(files_, log_file_path(directory, stream)) != files_.end()) continue;
      if (unlink(path.c_str()) != 0) {
        platform::fatal("cannot remove the earlier log's file " + path + ": " + strerror(errno));
      }
      after_step();
    }
  }
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

}  // namespace logjam
