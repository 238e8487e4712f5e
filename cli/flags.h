// The flags of each command, and its help. The main thread calls these functions.
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

struct CommandInfo {
  Commands command;  // one bit
  std::string_view name, does;
};
// Returns all commands, in the order of the help.
std::span<const CommandInfo> all_commands();
// Returns the command of that name, or 0 if there is none.
Commands command_named(std::string_view name);
std::vector<std::string_view> command_names(Commands commands = kAllCommands);
// Returns the names of the commands, as "run, micro and list". There is at least one.
std::string names_of(Commands commands);

// Flags that one heading of the help shows together.
struct FlagGroup {
  // Returns an empty text, or why it refuses the flag's value.
  using Check = std::string (*)();
  struct Entry {
    std::string_view name;
    Commands commands;
    Check check;  // nullptr: each value of the type can be used
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
// Refuses each value of the command's flags that cannot be used whatever the other flags say.
void refuse_bad_values(Commands command);

// Returns the value of the flag; of a number, its shortest text.
std::string value_of(const gflags::CommandLineFlagInfo& flag);
// Returns the flags that were given, as "--a=b --c=d", for an output row.
std::string changed_flags();

// Checks the command line before gflags reads it, because the messages of gflags have another form,
// and end the process with another status.
// Refuses unknown flags, and says which flag has the most similar name. Refuses values that are
// missing or are not of the flag's type. Does the same for the lines of flag files. `arguments` are
// the arguments after the program's name. Changes no flag. The main thread calls it.
void refuse_bad_flags(const std::vector<std::string>& arguments);

// Returns a line about each command.
std::string overview();
// Returns the flags of a command that are used most, a line for each. They fit on one screen.
std::string help_of(Commands command);
// Returns all flags of a command, in groups under headings: first the groups of flag_groups(), then
// one for each log scheme and each workload, then the useful flags of the libraries. The path of a
// flag's file gives the group, so a new scheme or workload needs no entry in a table.
std::string full_help_of(Commands command);

// Returns the flags of the libraries that full_help_of() shows.
std::span<const std::string_view> flags_of_libraries();

// The names that other benchmarks give to what a flag of logjam says.
struct FieldWords {
  std::string_view flag;  // "threads"; of a key of a list "range=count:N", N in place of the number
  std::string_view words;  // what others call it, in small letters
};
// Returns all words. Any thread may call this function and the next.
std::span<const FieldWords> field_words();

// Returns the FieldWords::flag for which `name` may stand, likely ones first.
std::vector<std::string_view> meant_by(std::string_view name);

}  // namespace logjam
