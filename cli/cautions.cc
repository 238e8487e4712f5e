#include "cli/cautions.h"

#include <algorithm>

#include "cli/placement.h"
#include "logging/device/device_registry.h"
#include "platform/host.h"
#include "platform/limits.h"
#include "platform/text.h"
#include "platform/thread.h"

namespace logjam {

std::vector<std::string> cautions_about_machine(const LogOptions& log) {
  std::vector<std::string> cautions;
  const auto workers = log.config.workers;
  const auto cores = static_cast<uint32_t>(platform::core_count());
  constexpr uint32_t kUsualPerCore = 16;
  if (workers > kUsualPerCore * cores) {
    cautions.push_back(std::to_string(workers / cores) +
                       " workers a core: latencies are above all waits for a core");
  }
  if (platform::is_simulated()) return cautions;
  const platform::Limit quota = platform::processor_quota();
  if (quota.amount < std::min(workers, cores)) {
    cautions.push_back(quota.by + " gives this process " + platform::short_number(quota.amount) +
                       " processors, fewer than its workers: it is stopped for a part of each "
                       "period");
  }
  if (const std::string why = platform::why_not_pinned(); !why.empty()) {
    cautions.push_back("workers were not pinned: " + why);
  }
  if (const std::string why = caution_about_clock(); !why.empty()) cautions.push_back(why);
  if (!device_traits(log.device).needs_disk || !log.scheme->traits.logs) return cautions;
  for (const std::string& directory : log.directories) {
    const std::string kind = platform::memory_file_system(directory);
    if (!kind.empty()) cautions.push_back(directory + " is on a " + kind + ": no disk is measured");
  }
  return cautions;
}

std::string caution_about_clock(const platform::KernelFiles& kernel) {
  const std::string processors = kernel.read("/proc/cpuinfo");
  const auto has = [&](const char* flag) { return processors.find(flag) != std::string::npos; };
  const bool promised = has(" constant_tsc") && has(" nonstop_tsc");
  const std::string source =
      kernel.word("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (!has("\nflags") || promised || source == "tsc") return "";
  return "latencies may be wrong: the processor does not promise a steady time stamp counter, and "
         "the kernel's clock is " +
         source;
}

std::vector<std::string> cautions_about_indexes(Database& database) {
  constexpr uint64_t kTimes = 4;
  std::vector<std::string> cautions;
  for (const auto& table : database.tables()) {
    const TableSchema& schema = table->schema();
    const uint64_t rows = table->count_rows();
    if (schema.kind != IndexKind::kHash || rows <= kTimes * schema.expected_rows) continue;
    cautions.push_back("the hash index of " + schema.name + " does not grow: it was laid out for " +
                       std::to_string(schema.expected_rows) + " rows and has " +
                       std::to_string(rows));
  }
  return cautions;
}

}  // namespace logjam
