// The text files in /proc and /sys by which the kernel is asked and told. Any thread may use one.
#pragma once

#include <functional>
#include <string>

namespace logjam::platform {

struct KernelFiles {
  // Stands before every path. A test names a directory of its own here.
  std::string root = "";
  // A test answers here as the kernel would: to a directory that was made or a file that was
  // written, and to a directory that is about to be removed, together with the files that the
  // kernel has put into it. Both are told the path without `root`.
  std::function<void(const std::string& path)> changed = [](const std::string&) {};
  std::function<void(const std::string& path)> removing = [](const std::string&) {};

  // Returns the file's text, or "" if it cannot be read.
  std::string read(const std::string& path) const;
  // Returns its first word, or "".
  std::string word(const std::string& path) const;
  bool exists(const std::string& path) const;
  // Returns whether the file was there and the kernel took the text.
  bool write(const std::string& path, const std::string& text) const;
  // Returns whether the directory was not there and was made.
  bool make_directory(const std::string& path) const;
  // Returns 0, or errno: EBUSY if the directory is a cgroup with threads.
  int remove_directory(const std::string& path) const;
};

}  // namespace logjam::platform
