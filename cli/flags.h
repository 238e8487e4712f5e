// The flags of each command. The main thread calls these functions.
//
// flags.cc has a table of the commands' flags. It does not list the flags of log schemes and
// workloads: the directory of the file that defines such a flag says what the flag belongs to. Its
// commands are those that make a log, and recover if a log's header stores it.
#pragma once

#include <gflags/gflags.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace logjam {

// A set of commands, one bit each.
using Commands = unsigned;
inline constexpr Commands kRun = 1, kRecover = 2, kMicro = 4, kDump = 8, kMachine = 16, kList = 32,
                          kHelp = 64, kTrim = 128, kExplore = 256, kDevice = 512,
                          kAllCommands = 1023;

// Returns the command of that name, or 0 if there is none.
Commands command_named(std::string_view name);
std::vector<std::string_view> command_names(Commands commands = kAllCommands);
// Returns the names of the commands, as "run, micro and list".
std::string names_of(Commands commands);

// Flags that one heading of the help shows together.
struct FlagGroup {
  struct Entry {
    std::string_view name;
    Commands commands;
  };
  std::string_view heading;
  std::vector<Entry> flags;
};
std::span<const FlagGroup> flag_groups();

// Returns all flags of the program, without those of its libraries.
std::vector<gflags::CommandLineFlagInfo> own_flags();
// Returns the commands that a flag belongs to; 0 if the flag is in no table, and the directory of
// its file does not decide either.
Commands commands_of(const gflags::CommandLineFlagInfo& flag);

// Refuses each flag that was given, in a flag file or elsewhere, unless it belongs to the command.
void refuse_misplaced_flags(Commands command);

// Returns the value of the flag; of a number, its shortest text.
std::string value_of(const gflags::CommandLineFlagInfo& flag);
// Returns the flags that were given, as "--a=b --c=d", for an output row.
std::string changed_flags();

}  // namespace logjam
