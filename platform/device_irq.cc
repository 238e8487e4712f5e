#include "platform/device_irq.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace logjam::platform {
namespace {

namespace fs = std::filesystem;

constexpr double kNearlyAll = 0.9;  // some interrupts are about the device's configuration

// Returns the sysfs directory of the bus device (PCI or alike) that holds the file system of
// `path`: the nearest directory above the block device that has an interrupt. Empty if none has.
fs::path bus_device_of(fs::path path) {
  std::error_code error;
  path = fs::absolute(path, error);
  struct stat status;
  while (stat(path.c_str(), &status) != 0) {
    if (!path.has_relative_path()) return {};
    path = path.parent_path();
  }
  const std::string number =
      std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev));
  fs::path device = fs::canonical("/sys/dev/block/" + number, error);
  while (device.has_relative_path() && !fs::exists(device / "irq", error)) {
    device = device.parent_path();
  }
  return device.has_relative_path() ? device : fs::path();
}

// Returns how often the interrupt has occurred on all cores, from a text like "0,1234".
unsigned long long times_of(const std::string& interrupt) {
  std::ifstream file("/sys/kernel/irq/" + interrupt + "/per_cpu_count");
  unsigned long long sum = 0, count = 0;
  for (char comma = ','; comma == ',' && file >> count; comma = static_cast<char>(file.get())) {
    sum += count;
  }
  return sum;
}

}  // namespace

int core_of_most(std::span<const InterruptCount> interrupts) {
  std::map<int, unsigned long long> by_core;
  unsigned long long all = 0;
  for (const InterruptCount& interrupt : interrupts) {
    by_core[interrupt.core] += interrupt.times;
    all += interrupt.times;
  }
  for (const auto& [core, times] : by_core) {
    const bool most = static_cast<double>(times) >= kNearlyAll * static_cast<double>(all);
    if (most && times != 0) return core;
  }
  return -1;
}

int interrupt_core(const std::string& path) {
  const fs::path device = bus_device_of(path);
  if (device.empty()) return -1;
  std::error_code error;
  std::vector<InterruptCount> interrupts;
  for (const auto& entry : fs::directory_iterator(device / "msi_irqs", error)) {
    const std::string interrupt = entry.path().filename();
    std::ifstream affinity("/proc/irq/" + interrupt + "/effective_affinity_list");
    int core = 0;  // the first of a list like "0-3": the interrupt goes to any core of the list
    if (affinity >> core) interrupts.push_back({core, times_of(interrupt)});
  }
  return core_of_most(interrupts);
}

}  // namespace logjam::platform
