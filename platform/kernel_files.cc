#include "platform/kernel_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>

#include "platform/assert.h"

namespace logjam::platform {
namespace {

bool has_item(const std::string& list, const std::string& wanted) {
  std::istringstream in(list);
  for (std::string item; std::getline(in, item, ',');) {
    if (item == wanted) return true;
  }
  return false;
}

// Finds the group by the lines of /proc/self/mountinfo: ID PARENT DEVICE ROOT MOUNT OPTIONS
// [TAGS...] - TYPE SOURCE OPTIONS. A container may mount only a part ROOT of the hierarchy.
std::optional<OwnGroup> own_group(const KernelFiles& kernel, int version,
                                  const std::string& controller) {
  const auto path = path_in_hierarchy(kernel, version, controller);
  if (!path) return {};
  std::istringstream in(kernel.read("/proc/self/mountinfo"));
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string id, parent, device, root, mount, field, type, source, options;
    fields >> id >> parent >> device >> root >> mount;
    while (fields >> field && field != "-") continue;
    fields >> type >> source >> options;
    if (version == 1 ? type != "cgroup" || !has_item(options, controller) : type != "cgroup2") {
      continue;
    }
    if (root == "/") root.clear();
    std::string below = path->substr(0, root.size()) == root ? path->substr(root.size()) : "/..";
    if (below == "/") below.clear();
    if (below.find("/..") != std::string::npos) continue;  // outside of what is mounted
    return OwnGroup{version, mount, below};
  }
  return {};
}

}  // namespace

std::string KernelFiles::read(const std::string& path) const {
  std::ifstream in(root + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string KernelFiles::word(const std::string& path) const {
  std::istringstream in(read(path));
  std::string first;
  in >> first;
  return first;
}

bool KernelFiles::exists(const std::string& path) const {
  return access((root + path).c_str(), F_OK) == 0;
}

bool KernelFiles::write(const std::string& path, const std::string& text) const {
  const int file = open((root + path).c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool taken = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(file);
  if (taken) changed(path);
  return taken;
}

bool KernelFiles::make_directory(const std::string& path) const {
  if (mkdir((root + path).c_str(), 0755) != 0) return false;
  changed(path);
  return true;
}

int KernelFiles::remove_directory(const std::string& path) const {
  removing(path);
  return rmdir((root + path).c_str()) == 0 ? 0 : errno;
}

std::vector<std::string> OwnGroup::outwards() const {
  std::vector<std::string> directories;
  for (std::string below = path; !below.empty(); below.resize(below.rfind('/'))) {
    directories.push_back(mount + below);
  }
  directories.push_back(mount);
  return directories;
}

// Reads the lines of /proc/self/cgroup, ID:CONTROLLERS:PATH; the line of version 2 is 0::PATH.
std::optional<std::string> path_in_hierarchy(const KernelFiles& kernel, int version,
                                             const std::string& controller) {
  LJ_ASSERT(version == 1 || version == 2);
  std::istringstream in(kernel.read("/proc/self/cgroup"));
  for (std::string id, controllers, path;
       std::getline(in, id, ':') && std::getline(in, controllers, ':') && std::getline(in, path);) {
    const bool wanted = version == 1 ? has_item(controllers, controller) : id == "0";
    if (wanted) return path;
  }
  return {};
}

// Looks in the hierarchy of version 2 if no hierarchy of version 1 has the controller.
std::optional<OwnGroup> own_group(const KernelFiles& kernel, const std::string& controller) {
  return own_group(kernel, path_in_hierarchy(kernel, 1, controller) ? 1 : 2, controller);
}

}  // namespace logjam::platform
