#include "platform/disk_cache.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <sstream>

namespace logjam::platform {
namespace {

// Returns the numbers of the block device of the file system of `directory`, as "8:1".
std::string block_device_of(const std::string& directory) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::absolute(directory, error);
  struct stat status;
  while (stat(path.c_str(), &status) != 0) {
    if (!path.has_relative_path()) return "";
    path = path.parent_path();
  }
  return std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev));
}

// Returns whether each mount of the block device is a file system that writes in place.
bool writes_in_place(const KernelFiles& kernel, const std::string& device) {
  bool found = false;
  std::istringstream mounts(kernel.read("/proc/self/mountinfo"));
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string word, numbers, type, source, options;
    words >> word >> word >> numbers;
    if (numbers != device) continue;
    while (words >> word && word != "-") {
    }
    words >> type >> source >> options;
    if ((type != "ext4" && type != "xfs") || options.find("data=journal") != options.npos) {
      return false;
    }
    found = true;
  }
  return found;
}

}  // namespace

bool writes_through(const std::string& directory, const KernelFiles& kernel) {
  const std::string device = block_device_of(directory);
  if (device.empty() || !writes_in_place(kernel, device)) return false;
  const std::string block = "/sys/dev/block/" + device;
  // The queue of a partition is that of its disk.
  std::string cache = kernel.read(block + "/queue/write_cache");
  if (cache.empty()) cache = kernel.read(block + "/../queue/write_cache");
  return cache == "write through\n" || cache == "write through";
}

}  // namespace logjam::platform
