#include "cli/without_effect.h"

#include <algorithm>
#include <span>

#include "cli/flags.h"
#include "platform/nearest_name.h"
#include "platform/text.h"

DECLARE_bool(continue);
DECLARE_string(flush);
DECLARE_string(history);

namespace logjam {
namespace {

std::string_view directory_of(std::string_view file) { return file.substr(0, file.rfind('/')); }

bool is_of_a_scheme(const gflags::CommandLineFlagInfo& flag) {
  return flag.filename.starts_with("logging/");
}

bool in_place_of_a_log(const Settings& settings) {
  return log_buffers(settings.log).count == 0;  // `none`, or a device that is memory
}
DeviceTraits traits_of(const Settings& settings) { return device_traits(settings.log.device); }

// Flags that count only together with another choice.
struct Condition {
  std::string_view flags;  // with spaces around each
  bool (*holds)(const Settings& settings);
  std::string_view of;
};
constexpr Condition kConditions[] = {
    {" pipeline_depth ", [](const Settings& s) { return s.run.commit == CommitPolicy::kPipelined; },
     "--commit=pipelined"},
    {" history_mb ", [](const Settings&) { return !FLAGS_history.empty(); }, "--history"},
    {" replay read_mb_s accept_damage ", [](const Settings&) { return FLAGS_continue; },
     "--continue"},
    {" wal_dir overwrite log_prealloc_mb log_records flush flush_gap_us flush_help io_bytes "
     "io_depth stripe_kb ",
     [](const Settings& s) { return s.scheme->traits.logs; }, "a scheme that logs"},
    {" log_buffer_mb ", [](const Settings& s) { return !in_place_of_a_log(s); },
     "a scheme with log buffers"},
    {" wal_dir overwrite ", [](const Settings& s) { return traits_of(s).keeps; },
     "a device that keeps the log"},
    {" log_prealloc_mb ",
     [](const Settings& s) { return traits_of(s).has_segments || traits_of(s).is_memory; },
     "a device that is preallocated"},
    {" io_depth ", [](const Settings& s) { return !traits_of(s).at_once; },
     "a device with several writes at once"},
    {" stripe_kb ", [](const Settings& s) { return s.log.directories.size() > 1; },
     "several --wal_dir"},
    {" flush_gap_us ", [](const Settings&) { return FLAGS_flush.empty(); }, "runs without --flush"},
};

// Returns what a flag belongs to that has no effect with these settings, or an empty text.
std::string other_owner(const gflags::CommandLineFlagInfo& flag, const Settings& settings) {
  const auto owners = owners_of(flag);
  const bool scheme = is_of_a_scheme(flag);
  const std::string_view chosen = scheme ? settings.scheme->name : settings.workload->name;
  if (!owners.empty() && std::ranges::find(owners, chosen) == owners.end()) {
    return (scheme ? "log " : "workload ") + platform::listed_names(owners);
  }
  for (const Condition& condition : kConditions) {
    const bool about = condition.flags.find(" " + flag.name + " ") != std::string_view::npos;
    if (about && !condition.holds(settings)) return std::string(condition.of);
  }
  return "";
}

}  // namespace

std::vector<std::string_view> owners_of(const gflags::CommandLineFlagInfo& flag) {
  std::vector<std::string_view> owners;
  if (is_of_a_scheme(flag)) {
    for (const SchemeInfo& scheme : all_schemes()) {
      const bool listed = std::ranges::find(scheme.flags, flag.name) != scheme.flags.end();
      if (listed || scheme.file == flag.filename) owners.push_back(scheme.name);
    }
    return owners;
  }
  for (const WorkloadInfo& workload : all_workloads()) {
    if (directory_of(workload.file) == directory_of(flag.filename)) owners.push_back(workload.name);
  }
  return owners;
}

std::string without_effect(const Settings& settings) {
  std::string list;
  for (const auto& flag : own_flags()) {
    if (flag.is_default) continue;
    const std::string of = other_owner(flag, settings);
    if (!of.empty()) platform::append_part(&list, ", ", "--" + flag.name + " (of " + of + ")");
  }
  return list;
}

}  // namespace logjam
