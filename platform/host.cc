#include "platform/host.h"

#include <sys/resource.h>
#include <sys/utsname.h>

#include <random>

#include "platform/kernel_files.h"
#include "platform/processor_name.h"
#include "platform/thread.h"

namespace logjam::platform {

std::string host_description() {
  utsname system;
  uname(&system);
  const std::string cpu = processor_name(KernelFiles().read("/proc/cpuinfo"));
  return (cpu.empty() ? "unknown CPU" : cpu) + ", " + std::to_string(core_count()) + " cores, " +
         system.sysname + " " + system.release;
}

bool is_simulated() { return false; }

void begin_measured_time() {}
void end_measured_time() {}
std::string why_no_disk() { return ""; }

uint64_t random_number() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

ProcessUse process_use() {
  rusage u;
  getrusage(RUSAGE_SELF, &u);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return {seconds(u.ru_utime) + seconds(u.ru_stime), seconds(u.ru_stime),
          static_cast<uint64_t>(u.ru_nvcsw), static_cast<uint64_t>(u.ru_nivcsw)};
}

}  // namespace logjam::platform
