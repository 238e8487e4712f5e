#include "platform/disk_facts.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <vector>

#include "platform/text.h"

namespace logjam::platform {
namespace {

namespace fs = std::filesystem;

struct Mount {
  std::string directory, options, type, source;
  std::string device;  // MAJOR:MINOR
};

// Returns a field of /proc/self/mountinfo, in which the kernel writes a space as "\040".
std::string decoded(const std::string& field) {
  std::string text;
  for (size_t at = 0; at < field.size(); ++at) {
    const auto digit = [&](size_t i) { return field[at + i] >= '0' && field[at + i] <= '7'; };
    if (field[at] == '\\' && at + 3 < field.size() && digit(1) && digit(2) && digit(3)) {
      text += static_cast<char>(std::stoi(field.substr(at + 1, 3), nullptr, 8));
      at += 3;
    } else {
      text += field[at];
    }
  }
  return text;
}

bool lies_in(std::string_view path, std::string_view directory) {
  if (directory == "/") return true;
  return directory.starts_with('/') && path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

// Appends the options in `list` that `options` does not have.
void add_options(const std::string& list, std::string* options) {
  std::istringstream in(list);
  for (std::string option; std::getline(in, option, ',');) {
    if (("," + *options + ",").find("," + option + ",") == std::string::npos) {
      append_part(options, ",", option);
    }
  }
}

// Returns the mount in which `path` lies: the mount on the longest directory that contains `path`.
// If this directory has several mounts, returns the last, because it hides the earlier mounts. The
// lines are ID PARENT DEVICE ROOT MOUNT OPTIONS [TAGS...] - TYPE SOURCE OPTIONS.
Mount mount_of(const KernelFiles& kernel, const std::string& path) {
  Mount found;
  std::istringstream in(kernel.read("/proc/self/mountinfo"));
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string id, parent, root, field, more;
    Mount mount;
    fields >> id >> parent >> mount.device >> root >> mount.directory >> mount.options;
    while (fields >> field && field != "-") continue;
    fields >> mount.type >> mount.source >> more;
    mount.directory = decoded(mount.directory);
    if (!lies_in(path, mount.directory) || mount.directory.size() < found.directory.size()) {
      continue;
    }
    add_options(more, &mount.options);
    found = mount;
  }
  return found;
}

// Returns the sysfs directory of the mount's block device, or "". btrfs has a device number of its
// own, but names a block device as its source.
std::string block_device_of(const KernelFiles& kernel, const Mount& mount) {
  constexpr std::string_view kDev = "/dev/";
  if (mount.device.empty()) return "";
  std::string by_number = "/sys/dev/block/" + mount.device;
  if (kernel.exists(by_number)) return by_number;
  if (!mount.source.starts_with(kDev)) return "";
  const std::string by_name = "/sys/class/block/" + mount.source.substr(kDev.size());
  return kernel.exists(by_name) ? by_name : "";
}

// Returns the file's text without spaces at its ends, or "".
std::string line_of(const KernelFiles& kernel, const std::string& path) {
  const std::string text = kernel.read(path);
  const size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\n") + 1 - begin);
}

std::optional<bool> flag_of(const KernelFiles& kernel, const std::string& path) {
  const std::string text = line_of(kernel, path);
  if (text.empty()) return {};
  return text != "0";
}

// Returns the name of the block device, and the names of the devices on which it is stacked.
std::string name_of(const KernelFiles& kernel, const std::string& block) {
  std::string name;
  std::istringstream in(kernel.read(block + "/uevent"));
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("DEVNAME=")) name = line.substr(line.find('=') + 1);
  }
  std::vector<std::string> below;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(kernel.root + block + "/slaves", none)) {
    below.push_back(entry.path().filename());
  }
  std::ranges::sort(below);
  return below.empty() ? name : name + " on " + join(below, " ");
}

// Returns the scheduler that is in use: the name in brackets, or the only name.
std::string scheduler_of(const std::string& line) {
  const size_t begin = line.find('['), end = line.find(']');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return line;
  return line.substr(begin + 1, end - begin - 1);
}

}  // namespace

DiskFacts disk_facts(const KernelFiles& kernel, const std::string& path) {
  std::error_code none;
  const Mount mount = mount_of(kernel, fs::weakly_canonical(fs::absolute(path, none), none));
  DiskFacts facts;
  facts.file_system = mount.type;
  facts.mount_options = mount.options;
  std::string block = block_device_of(kernel, mount);
  if (block.empty()) return facts;
  // A link leads to the directory of a partition, which lies in the directory of its disk.
  if (kernel.exists(block + "/partition")) block += "/..";
  facts.disk = name_of(kernel, block);
  facts.model = line_of(kernel, block + "/device/model");
  facts.scheduler = scheduler_of(line_of(kernel, block + "/queue/scheduler"));
  facts.write_cache = line_of(kernel, block + "/queue/write_cache");
  facts.fua = flag_of(kernel, block + "/queue/fua");
  facts.rotational = flag_of(kernel, block + "/queue/rotational");
  return facts;
}

}  // namespace logjam::platform
