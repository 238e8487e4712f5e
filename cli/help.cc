#include <algorithm>
#include <bit>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "cli/flags.h"
#include "platform/assert.h"

namespace logjam {
namespace {

constexpr size_t kColumns = 100;

// The flags that help_of() shows, the most used first. For each command except `run`, help_of()
// also shows the flags that no other command has.
constexpr std::string_view kMostUsed[] = {
    "workload",     "log",       "cc",        "commit",   "threads",    "seconds",  "warmup",
    "wal_dir",      "device",    "overwrite", "continue", "checkpoint", "locks",    "rate",
    "transactions", "placement", "csv",       "json",     "cdf",        "timeline", "trace",
    "record",       "verify",    "history",   "seed"};

constexpr std::string_view kOfLibraries[] = {"flagfile", "v", "vmodule", "logtostderr", "log_dir"};

gflags::CommandLineFlagInfo info_of(std::string_view name) {
  return gflags::GetCommandLineFlagInfoOrDie(std::string(name).c_str());
}

std::string padded(std::string text, size_t columns) {
  text.resize(std::max(text.size() + 1, columns), ' ');
  return text;
}

std::string with_default(const gflags::CommandLineFlagInfo& flag) {
  return "  --" + flag.name + "=" + flag.default_value;
}

// Returns a line with the flag's name, and its description up to the first semicolon.
std::string line_of(const gflags::CommandLineFlagInfo& flag) {
  constexpr size_t kIndent = 26;
  return padded(with_default(flag), kIndent) +
         flag.description.substr(0, flag.description.find(';')) + "\n";
}

// Returns the flag's name and whole description, in lines of at most kColumns characters.
std::string paragraph_of(const gflags::CommandLineFlagInfo& flag) {
  constexpr size_t kIndent = 6;
  std::string text = with_default(flag) + "\n", line;
  std::istringstream words(flag.description);
  for (std::string word; words >> word;) {
    if (!line.empty() && kIndent + line.size() + 1 + word.size() > kColumns) {
      text += std::string(kIndent, ' ') + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return text + std::string(kIndent, ' ') + line + "\n";
}

const CommandInfo& about(Commands command) {
  LJ_ASSERT(std::has_single_bit(command) && (command & kAllCommands) != 0);
  return *std::ranges::find(all_commands(), command, &CommandInfo::command);
}

std::string title_of(Commands command) {
  const CommandInfo& of = about(command);
  return "logjam " + std::string(of.name) + ": " + std::string(of.does) + "\n";
}

// Returns the heading of a scheme's, a workload's or the simulated machine's flags.
std::string heading_of(const std::string& file) {
  for (std::string_view room : {"workloads/", "proof/"}) {
    if (!file.starts_with(room)) continue;
    return "Workload " + file.substr(room.size(), file.find('/', room.size()) - room.size());
  }
  if (file.starts_with("sim/")) return "Simulated machine";
  return "Log scheme (" + file + ")";
}

}  // namespace

std::span<const std::string_view> flags_of_libraries() { return kOfLibraries; }

std::string overview() {
  std::string text;
  for (const CommandInfo& each : all_commands()) {
    constexpr size_t kIndent = 16;
    text += padded("logjam " + std::string(each.name), kIndent) + std::string(each.does) + "\n";
  }
  return text +
         "\n"
         "logjam COMMAND --help shows the flags that are used most, --help=all the others, too.\n"
         "--flagfile=FILE reads flags from a file.\n";
}

std::string help_of(Commands command) {
  if (command == kHelp) return overview();
  std::string text = title_of(command) + "\n";
  const auto is_most_used = [](std::string_view name) {
    return std::ranges::find(kMostUsed, name) != std::end(kMostUsed);
  };
  for (std::string_view name : kMostUsed) {
    const auto flag = info_of(name);
    if ((commands_of(flag) & command) != 0) text += line_of(flag);
  }
  for (const FlagGroup& group : flag_groups()) {
    for (const auto& [name, commands, check] : group.flags) {
      if (commands == command && command != kRun && !is_most_used(name)) {
        text += line_of(info_of(name));
      }
    }
  }
  return text + "\nlogjam " + std::string(about(command).name) +
         " --help=all shows all flags, and what their values mean.\n";
}

std::string full_help_of(Commands command) {
  if (command == kHelp) return overview();
  std::string text = title_of(command);
  std::vector<std::string_view> shown;
  const auto add_group = [&](const std::string& heading, const std::string& flags) {
    if (!flags.empty()) text += "\n" + heading + "\n" + flags;
  };
  for (const FlagGroup& group : flag_groups()) {
    std::string flags;
    for (const auto& [name, commands, check] : group.flags) {
      shown.push_back(name);
      if ((commands & command) != 0) flags += paragraph_of(info_of(name));
    }
    if (!group.heading.empty()) add_group(std::string(group.heading), flags);
  }
  std::map<std::string, std::string> by_file;
  for (const auto& flag : own_flags()) {
    if (std::ranges::find(shown, flag.name) != shown.end()) continue;
    if ((commands_of(flag) & command) == 0) continue;
    by_file[heading_of(flag.filename)] += paragraph_of(flag);
  }
  for (const auto& [heading, flags] : by_file) add_group(heading, flags);
  std::string of_libraries;
  for (std::string_view name : kOfLibraries) {
    gflags::CommandLineFlagInfo flag;
    const bool found = gflags::GetCommandLineFlagInfo(std::string(name).c_str(), &flag);
    if (found) of_libraries += paragraph_of(flag);
  }
  add_group("Every command's (libraries gflags and glog)", of_libraries);
  return text;
}

}  // namespace logjam
