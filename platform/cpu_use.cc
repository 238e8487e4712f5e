#include "platform/cpu_use.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <sstream>

#include "platform/assert.h"
#include "platform/clock.h"
#include "platform/kernel_files.h"
#include "platform/thread.h"

namespace logjam::platform {
namespace {

double own_seconds() {
  timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

double seconds_of_others() {
  return used_seconds(KernelFiles().read("/proc/stat"), allowed_cores()) - own_seconds();
}

}  // namespace

double used_seconds(const std::string& proc_stat, std::span<const int> cores) {
  const auto ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  double sum = 0;
  std::istringstream in(proc_stat);
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string name;
    double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, soft = 0;
    fields >> name;
    if (!name.starts_with("cpu") || name == "cpu") continue;
    if (std::ranges::find(cores, std::stoi(name.substr(3))) == cores.end()) continue;
    // The later fields are left out: time that the hypervisor took is not work for these cores, and
    // guests' time is part of `user` as well.
    fields >> user >> nice >> system >> idle >> waiting >> interrupts >> soft;
    sum += (user + nice + system + interrupts + soft) / ticks_per_second;
  }
  return sum;
}

bool others_are_idle(uint32_t workers) {
  LJ_ASSERT(workers > 0);
  constexpr double kAllowedShare = 0.1;
  constexpr uint64_t kSliceNs = 20'000'000;
  constexpr int kSlices = 10;
  const auto cores = std::min(workers, static_cast<uint32_t>(core_count()));
  const double allowed_seconds = kAllowedShare * cores * kSlices * kSliceNs * 1e-9;
  const double before = seconds_of_others();
  for (int i = 0; i < kSlices; ++i) {
    sleep_ns(kSliceNs);
    if (seconds_of_others() - before >= allowed_seconds) return false;
  }
  return true;
}

}  // namespace logjam::platform
