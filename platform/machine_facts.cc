#include "platform/machine_facts.h"

#include <set>
#include <sstream>

namespace logjam::platform {

MachineFacts machine_facts(const KernelFiles& kernel) {
  std::set<std::string> sockets;
  std::istringstream processors(kernel.read("/proc/cpuinfo"));
  for (std::string line; std::getline(processors, line);) {
    if (line.starts_with("physical id")) sockets.insert(line);
  }
  const std::string cpu = "/sys/devices/system/cpu/";
  return {.sockets = sockets.empty() ? "" : std::to_string(sockets.size()),
          .governor = kernel.word(cpu + "cpu0/cpufreq/scaling_governor"),
          .smt = kernel.word(cpu + "smt/control")};
}

}  // namespace logjam::platform
