#include "cli/flags.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "engine/workload.h"
#include "logging/scheme_registry.h"
#include "platform/fatal.h"
#include "platform/nearest_name.h"
#include "platform/text.h"

namespace logjam {
namespace {

constexpr Commands kLogging = kRun | kMicro;

constexpr std::array<std::pair<std::string_view, Commands>, 10> kCommands = {{{"run", kRun},
                                                                              {"recover", kRecover},
                                                                              {"micro", kMicro},
                                                                              {"dump", kDump},
                                                                              {"trim", kTrim},
                                                                              {"explore", kExplore},
                                                                              {"machine", kMachine},
                                                                              {"device", kDevice},
                                                                              {"list", kList},
                                                                              {"help", kHelp}}};

// Returns whether logs store the flag in their headers, because a recovery needs it.
bool in_headers(std::string_view name) {
  const auto has = [name](const auto& names) {
    return std::ranges::find(names, name) != names.end();
  };
  return std::ranges::any_of(all_workloads(), [&](const auto& w) { return has(w.load_flags); }) ||
         std::ranges::any_of(all_schemes(), [&](const auto& s) { return has(s.recovery_flags); });
}

// Returns whether the file is in this tree. Debian's gflags and glog were built with file names
// that begin with a slash or a dot.
bool is_own(const std::string& file) { return !file.starts_with('/') && !file.starts_with('.'); }

}  // namespace

Commands command_named(std::string_view name) {
  for (const auto& [each, command] : kCommands) {
    if (each == name) return command;
  }
  return 0;
}

std::vector<std::string_view> command_names(Commands commands) {
  std::vector<std::string_view> names;
  for (const auto& [name, command] : kCommands) {
    if ((commands & command) != 0) names.push_back(name);
  }
  return names;
}

std::string names_of(Commands commands) { return platform::listed_names(command_names(commands)); }

std::span<const FlagGroup> flag_groups() {
  static const std::vector<FlagGroup> groups = {
      {"The run",
       {{"workload", kRun | kRecover | kExplore},
        {"log", kLogging | kExplore},
        {"cc", kRun | kRecover | kExplore},
        {"commit", kLogging | kExplore},
        {"threads", kLogging | kRecover | kExplore},
        {"seconds", kLogging | kDevice},
        {"warmup", kLogging},
        {"transactions", kLogging | kExplore},
        {"rate", kRun},
        {"locks", kRun | kExplore},
        {"pipeline_depth", kLogging | kExplore},
        {"seed", kLogging | kExplore},
        {"rounds", kExplore},
        {"breakdown", kRun}}},
      {"The log",
       {{"wal_dir", kLogging | kRecover | kDump | kTrim | kExplore | kDevice},
        {"device", kLogging | kDevice},
        {"overwrite", kLogging},
        {"continue", kRun},
        {"log_records", kRun | kExplore},
        {"log_buffer_mb", kLogging},
        {"log_prealloc_mb", kLogging | kExplore},
        {"stripe_kb", kLogging},
        {"checkpoint", kRun | kRecover | kExplore}}},
      {"Flushing",
       {{"flush", kLogging | kExplore},
        {"flush_gap_us", kLogging},
        {"flush_help", kLogging | kExplore},
        {"io_bytes", kLogging},
        {"io_depth", kLogging}}},
      {"Threads and cores",
       {{"placement", kLogging},
        {"worker_class", kLogging},
        {"sockets", kLogging | kExplore}}},
      {"Recovery and checks",
       {{"verify", kRun | kRecover},
        {"history", kRun | kRecover},
        {"history_mb", kRun},
        {"replay", kRun | kRecover},
        {"read_mb_s", kRun | kRecover},
        {"accept_damage", kRun | kRecover}}},
      {"Log inserts",
       {{"record_bytes", kMicro},
        {"fill", kMicro},
        {"logs_per_commit", kMicro},
        {"sync_every", kMicro},
        {"floor", kMicro},
        {"sync", kMicro}}},
      {"Output",
       {{"csv", kLogging | kRecover | kDump | kDevice},
        {"json", kLogging | kRecover | kDump | kList | kDevice},
        {"cdf", kLogging},
        {"timeline", kRun},
        {"export", kRecover},
        {"export_history", kRecover},
        {"range", kDump},
        {"dependencies", kDump}}},
      {"", {{"test", kLogging | kMachine | kExplore}}},  // no help shows these
  };
  return groups;
}

std::vector<gflags::CommandLineFlagInfo> own_flags() {
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  std::erase_if(flags, [](const auto& flag) { return !is_own(flag.filename); });
  return flags;
}

Commands commands_of(const gflags::CommandLineFlagInfo& flag) {
  for (const FlagGroup& group : flag_groups()) {
    for (const auto& [name, commands] : group.flags) {
      if (name == flag.name) return commands;
    }
  }
  const std::string& file = flag.filename;
  if (!is_own(file) || file.starts_with("sim/")) return kAllCommands;
  const Commands recover = in_headers(flag.name) ? kRecover : 0;
  // `list` takes the flags of schemes, because it says whether a scheme is safe with them.
  if (file.starts_with("logging/")) return kLogging | kList | kExplore | recover;
  if (file.starts_with("proof/")) return kRun | kExplore | recover;
  if (file.starts_with("workloads/")) return kRun | kExplore | recover;
  return 0;
}

void refuse_misplaced_flags(Commands command) {
  for (const auto& flag : own_flags()) {
    const Commands commands = commands_of(flag);
    if (flag.is_default || (commands & command) != 0) continue;
    platform::refuse("--" + flag.name + " is a flag of " + names_of(commands) + ", not of " +
                     names_of(command));
  }
}

std::string value_of(const gflags::CommandLineFlagInfo& flag) {
  if (flag.type != "double") return flag.current_value;
  return platform::shortest(std::strtod(flag.current_value.c_str(), nullptr));
}

std::string changed_flags() {
  std::vector<gflags::CommandLineFlagInfo> all;
  gflags::GetAllFlags(&all);
  std::string text;
  for (const auto& flag : all) {
    if (flag.is_default || flag.name == "flagfile") continue;
    text += (text.empty() ? "--" : " --") + flag.name + "=" + value_of(flag);
  }
  return text;
}

}  // namespace logjam
