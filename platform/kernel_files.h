// The text files of /proc and /sys, which a program reads and writes to query and configure the
// kernel. Any thread may use a KernelFiles.
#pragma once

#include <functional>
#include <string>

namespace logjam::platform {

struct KernelFiles {
  // The prefix of every path. A test sets its own directory.
  std::string root = {};
  // Tests set these to behave as the kernel would. changed() is called after a directory was made
  // or a file was written; removing() is called before a directory is removed, so that it can
  // remove the files that the kernel has put there. Both get the path without `root`.
  std::function<void(const std::string& path)> changed = [](const std::string&) {};
  std::function<void(const std::string& path)> removing = [](const std::string&) {};

  // Returns the file's text, or "" if it cannot be read.
  std::string read(const std::string& path) const;
  // Returns the file's first word, or "".
  std::string word(const std::string& path) const;
  bool exists(const std::string& path) const;
  // Writes `text` to an existing file. Returns whether the kernel took it.
  bool write(const std::string& path, const std::string& text) const;
  // Makes a directory. Returns false if it exists already or cannot be made.
  bool make_directory(const std::string& path) const;
  // Removes a directory. Returns 0, or errno: EBUSY if the directory is a cgroup with threads.
  int remove_directory(const std::string& path) const;
};

}  // namespace logjam::platform
