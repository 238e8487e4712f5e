#include "platform/limits.h"

#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>

namespace logjam::platform {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

// Returns the number after `name` in a text of names and numbers, such as memory.stat.
std::optional<double> number_after(const std::string& text, std::string_view name) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(name)) continue;
    std::istringstream rest(line.substr(name.size()));
    double number = 0;
    if (rest >> number) return number;
  }
  return {};
}

// Returns the number that a file of a cgroup holds; nothing if it is missing or says "max".
std::optional<double> number_in(const KernelFiles& kernel, const std::string& path) {
  const std::string word = kernel.word(path);
  char* end = nullptr;
  const double number = std::strtod(word.c_str(), &end);
  if (word.empty() || *end != '\0') return {};
  return number;
}

void lower(Limit* least, double amount, const std::string& by) {
  if (amount < least->amount) *least = {std::max(amount, 0.0), by};
}

void lower_by_group(const KernelFiles& kernel, int version, const std::string& group,
                    Limit* least) {
  const bool one = version == 1;
  const auto used = number_in(kernel, group + (one ? "/memory.usage_in_bytes" : "/memory.current"));
  if (!used) return;
  for (const char* file : {"/memory.limit_in_bytes", "/memory.max", "/memory.high"}) {
    const auto most = number_in(kernel, group + file);
    if (!most) continue;
    const auto inactive = number_after(kernel.read(group + "/memory.stat"),
                                       one ? "total_inactive_file " : "inactive_file ");
    lower(least, *most - std::max(0.0, *used - inactive.value_or(0)),
          "the limit of the cgroup " + group);
  }
}

// Lowers `least` to the unused part of a resource limit. A line of /proc/self/limits has a limit's
// name, the soft limit, the hard limit and the unit. /proc/self/status has the use, in kB.
void lower_by_resource(const KernelFiles& kernel, std::string_view limit, std::string_view used,
                       const std::string& by, Limit* least) {
  const auto most = number_after(kernel.read("/proc/self/limits"), limit);
  const auto kib = number_after(kernel.read("/proc/self/status"), used);
  if (most) lower(least, *most - 1024 * kib.value_or(0), by);
}

}  // namespace

Limit memory_left(const KernelFiles& kernel) {
  Limit least{kNone, ""};
  const auto kib = number_after(kernel.read("/proc/meminfo"), "MemAvailable:");
  if (kib) lower(&least, *kib * 1024, "");
  if (const auto group = own_group(kernel, "memory")) {
    for (const std::string& directory : group->outwards()) {
      lower_by_group(kernel, group->version, directory, &least);
    }
  }
  lower_by_resource(kernel, "Max address space", "VmSize:", "RLIMIT_AS (ulimit -v)", &least);
  lower_by_resource(kernel, "Max data size", "VmData:", "RLIMIT_DATA (ulimit -d)", &least);
  return least;
}

Limit processor_quota(const KernelFiles& kernel) {
  Limit least{kNone, ""};
  const auto group = own_group(kernel, "cpu");
  if (!group) return least;
  for (const std::string& directory : group->outwards()) {
    double quota = 0, period = 0;
    std::istringstream in(group->version == 2 ? kernel.read(directory + "/cpu.max")
                                              : kernel.word(directory + "/cpu.cfs_quota_us") + " " +
                                                    kernel.word(directory + "/cpu.cfs_period_us"));
    if (in >> quota >> period && quota > 0 && period > 0) {
      lower(&least, quota / period, "the cgroup " + directory);
    }
  }
  return least;
}

std::string locked_memory_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  return "RLIMIT_MEMLOCK (ulimit -l) is " + (limit.rlim_cur == RLIM_INFINITY
                                                 ? "unlimited"
                                                 : std::to_string(limit.rlim_cur >> 10) + " KiB");
}

std::string memory_file_system(const std::string& path) {
  struct statfs found {};
  if (statfs(path.c_str(), &found) != 0) return "";
  if (found.f_type == TMPFS_MAGIC) return "tmpfs";
  return found.f_type == RAMFS_MAGIC ? "ramfs" : "";
}

}  // namespace logjam::platform
