// The cgroups that this process is in. Any thread may call these functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "platform/kernel_files.h"

namespace logjam::platform {

// The process's own group, in the hierarchy that has a controller.
struct OwnGroup {
  int version;
  std::string mount;  // the topmost visible directory of the hierarchy
  std::string path;   // of the group, below `mount`; "" if it is `mount` itself

  std::string directory() const { return mount + path; }
  // Returns the directories of the group and of all visible groups that it lies in, outwards.
  std::vector<std::string> outwards() const;
};

// Returns the group for `controller`, such as "cpu", or nothing if no hierarchy is visible.
std::optional<OwnGroup> own_group(const KernelFiles& kernel, const std::string& controller);

// Returns the path of the process's group in the hierarchy of `version`, as the kernel gives
// it, or nothing if `controller` is in no hierarchy of that version.
std::optional<std::string> path_in_hierarchy(const KernelFiles& kernel, int version,
                                             const std::string& controller);

}  // namespace logjam::platform
