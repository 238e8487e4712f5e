// Log files in memory, which a test damages.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "logging/format/segments.h"

namespace logjam {

// A file in memory.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& content)
      : fd_(memfd_create("corruption", MFD_CLOEXEC)),
        path_("/proc/self/fd/" + std::to_string(fd_)) {
    write(0, content);
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  const std::string& path() const { return path_; }
  void write(uint64_t at, const std::string& bytes) {
    EXPECT_EQ(pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(at)),
              static_cast<ssize_t>(bytes.size()));
  }
  void truncate(uint64_t bytes) { EXPECT_EQ(ftruncate(fd_, static_cast<off_t>(bytes)), 0); }

 private:
  const int fd_;
  const std::string path_;
};

// A log file and its segment files, in memory.
class MemoryLogFile {
 public:
  MemoryLogFile(const std::string& path, const std::string& content, Segments segments)
      : path_(path), segments_(segments) {
    for (uint64_t at = 0; at < content.size();) {
      const uint64_t bytes = std::min<uint64_t>(content.size() - at, segments_.left(at));
      files_.push_back(std::make_unique<MemoryFile>(content.substr(at, bytes)));
      std::filesystem::create_symlink(files_.back()->path(), segment_path(path, files_.size() - 1));
      at += bytes;
    }
  }

  const std::string& path() const { return path_; }
  void write(uint64_t at, const std::string& bytes) {
    for (uint64_t done = 0; done < bytes.size();) {
      const uint64_t to = at + done;
      const uint64_t piece = std::min<uint64_t>(bytes.size() - done, segments_.left(to));
      files_[segments_.index(to)]->write(segments_.within(to), bytes.substr(done, piece));
      done += piece;
    }
  }
  // Cuts off the segment that contains `at`.
  void cut(uint64_t at) { files_[segments_.index(at)]->truncate(segments_.within(at)); }

 private:
  const std::string path_;
  const Segments segments_;
  std::vector<std::unique_ptr<MemoryFile>> files_;
};

}  // namespace logjam
