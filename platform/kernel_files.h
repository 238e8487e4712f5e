// The text files of /proc and /sys, which query and configure the kernel; and the cgroups that this
// process is in. Any thread may call these functions.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace logjam::platform {

struct KernelFiles {
  // The prefix of every path. A test sets its own directory.
  std::string root = {};
  // Tests set these functions to behave as the kernel would. changed() is called after a directory
  // was made or a file written, removing() before a directory is removed. `path` lacks `root`.
  std::function<void(const std::string& path)> changed = [](const std::string&) {};
  std::function<void(const std::string& path)> removing = [](const std::string&) {};

  // Returns the file's text, or "" if it cannot be read.
  std::string read(const std::string& path) const;
  // Returns the file's first word, or "".
  std::string word(const std::string& path) const;
  bool exists(const std::string& path) const;
  // Writes `text` to an existing file. Returns whether the kernel accepted the text.
  bool write(const std::string& path, const std::string& text) const;
  // Makes a directory. Returns false if it exists already or cannot be made.
  bool make_directory(const std::string& path) const;
  // Removes a directory. Returns 0, or errno: EBUSY if the directory is a cgroup with threads.
  int remove_directory(const std::string& path) const;
};

// The process's group in the hierarchy that has a controller.
struct OwnGroup {
  int version;
  std::string mount;  // the topmost visible directory of the hierarchy
  std::string path;   // of the group, below `mount`; "" if it is `mount` itself

  std::string directory() const { return mount + path; }
  // Returns the directories of the group and of all visible groups around it, outwards.
  std::vector<std::string> outwards() const;
};

// Returns the group for `controller`, such as "cpu", or nothing if no hierarchy is visible.
std::optional<OwnGroup> own_group(const KernelFiles& kernel, const std::string& controller);

// Returns the path of the process's group in the hierarchy of `version`, as the kernel gives the
// path, or nothing if `controller` is in no hierarchy of that version.
std::optional<std::string> path_in_hierarchy(const KernelFiles& kernel, int version,
                                             const std::string& controller);

}  // namespace logjam::platform
