#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>
#include <utility>

#include "platform/processor_name.h"
#include "sim/measure/costs.h"

namespace logjam::platform {
namespace {

std::string cpu(int number) { return "/sys/devices/system/cpu/cpu" + std::to_string(number); }

// Returns how many numbers a list like "0-3,8" contains: here 5.
int numbers_in(const std::string& list) {
  int count = 0;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t dash = part.find('-');
    const int first = std::atoi(part.c_str());
    count += dash == std::string::npos ? 1 : std::atoi(part.c_str() + dash + 1) - first + 1;
  }
  return std::max(count, 1);
}

void read_caches(const KernelFiles& kernel, int core, MachineShape& shape) {
  for (int index = 0;; ++index) {
    const std::string cache = cpu(core) + "/cache/index" + std::to_string(index);
    const std::string type = kernel.word(cache + "/type");
    if (type.empty()) return;
    if (type == "Instruction") continue;
    const std::string size = kernel.word(cache + "/size");  // "48K", "30M"
    const CacheShape found{
        std::strtoull(size.c_str(), nullptr, 10) * (size.ends_with('M') ? 1024 : 1),
        static_cast<uint32_t>(std::atoi(kernel.word(cache + "/ways_of_associativity").c_str()))};
    const std::string level = kernel.word(cache + "/level");
    if (level == "1") shape.l1 = found;
    if (level == "2") shape.l2 = found;
    if (level == "3") shape.l3 = found;
  }
}

}  // namespace

MachineShape machine_shape(const KernelFiles& kernel, std::span<const int> allowed) {
  MachineShape shape;
  shape.name = processor_name(kernel.read("/proc/cpuinfo"));
  shape.kernel = kernel.word("/proc/sys/kernel/osrelease");
  read_caches(kernel, allowed[0], shape);

  using Core = std::pair<std::string, std::string>;  // its socket, and the list of its contexts
  const auto core_of = [&](int number) {
    const std::string topology = cpu(number) + "/topology";
    const std::string siblings = kernel.word(topology + "/thread_siblings_list");
    return Core(kernel.word(topology + "/physical_package_id"),
                siblings.empty() ? std::to_string(number) : siblings);
  };
  const Core first = core_of(allowed[0]);
  shape.contexts = numbers_in(first.second);
  std::set<std::string> sockets;
  std::set<Core> cores;
  for (size_t i = 0; i < allowed.size(); ++i) {
    const Core core = core_of(allowed[i]);
    sockets.insert(core.first);
    if (core.first == first.first) cores.insert(core);
    if (i == 0) continue;
    int& place = core == first               ? shape.sibling
                 : core.first == first.first ? shape.same_socket
                                             : shape.other_socket;
    if (place < 0) place = static_cast<int>(i);
  }
  shape.sockets = static_cast<int>(sockets.size());
  shape.cores = static_cast<int>(cores.size());
  return shape;
}

}  // namespace logjam::platform
