#include "cli/help.h"

#include <map>
#include <string_view>
#include <tuple>

namespace logjam {
namespace {

// Groups are printed in the order of their places, and by heading where the places are equal.
struct Group {
  int place;
  std::string heading;
  bool operator<(const Group& other) const {
    return std::tie(place, heading) < std::tie(other.place, other.heading);
  }
};

Group group_of(const std::string& file) {
  const auto in_file = [&file](const std::string& what) { return what + " (" + file + ")"; };
  const auto name_after = [&file](std::string_view directory, char end) {
    return file.substr(directory.size(), file.find(end, directory.size()) - directory.size());
  };
  if (file == "cli/settings.cc") return {0, in_file("all commands")};
  if (file.starts_with("cli/")) return {1, in_file("logjam " + name_after("cli/", '.'))};
  if (file.starts_with("logging/schemes/")) return {2, in_file("schemes")};
  for (std::string_view room : {"workloads/", "proof/"}) {
    if (file.starts_with(room)) return {4, in_file("workload " + name_after(room, '/'))};
  }
  for (std::string_view room : {"engine/", "cc/", "logging/", "platform/", "sim/"}) {
    if (file.starts_with(room)) return {3, in_file(file.substr(0, file.rfind('/')))};
  }
  // A library's flags name its files by the paths they had where Debian built it.
  if (file.find("gflags") != std::string::npos) return {6, "library gflags"};
  return {5, "library glog"};
}

}  // namespace

std::string describe_flags(const std::vector<gflags::CommandLineFlagInfo>& flags) {
  std::map<Group, std::string> groups;
  for (gflags::CommandLineFlagInfo flag : flags) {
    // A flag that was set and has its default again, as --help has here, is not worth a word.
    flag.is_default = flag.is_default || flag.current_value == flag.default_value;
    groups[group_of(flag.filename)] += gflags::DescribeOneFlag(flag);
  }
  std::string text;
  for (const auto& [group, described] : groups) text += "\n" + group.heading + "\n" + described;
  return text;
}

}  // namespace logjam
