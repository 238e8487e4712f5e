// An input as a file with a path, for parsers that open one.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "tests/fuzz/target.h"

namespace logjam::fuzz {

// A file in memory. Each target has one, which it writes anew for each input.
class MemoryPath {
 public:
  MemoryPath()
      : file_(memfd_create("input", MFD_CLOEXEC)),
        path_("/proc/self/fd/" + std::to_string(file_)) {}

  void write(Input input) {
    const auto bytes = static_cast<ssize_t>(input.size());
    require(ftruncate(file_, 0) == 0 && pwrite(file_, input.data(), input.size(), 0) == bytes,
            "a file in memory can be written");
  }
  int file() const { return file_; }
  const std::string& path() const { return path_; }

 private:
  const int file_;
  const std::string path_;
};

}  // namespace logjam::fuzz
