// The flags of each command, and its help. The main thread calls these functions.
//
// flags.cc has a table of the commands' flags. The table lacks the flags of log schemes and
// workloads, which are known by the directory of their source file. These flags belong to the
// commands that make a log, and to `recover` if a log's header stores the flag.
#pragma once

#include <gflags/gflags.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

DECLARE_bool(accept_damage);
DECLARE_bool(breakdown);
DECLARE_string(cc);
DECLARE_string(cdf);
DECLARE_string(checkpoint);
DECLARE_string(commit);
DECLARE_string(snapshot);
DECLARE_bool(continue);
DECLARE_string(csv);
DECLARE_string(dependencies);
DECLARE_string(device);
DECLARE_string(export);
DECLARE_string(export_history);
DECLARE_string(fill);
DECLARE_string(floor);
DECLARE_string(flush);
DECLARE_string(flush_gap_us);
DECLARE_string(log_parts);
DECLARE_bool(flush_help);
DECLARE_string(history);
DECLARE_uint64(io_bytes);
DECLARE_uint32(io_depth);
DECLARE_string(json);
DECLARE_string(locks);
DECLARE_string(log);
DECLARE_uint32(log_buffer_mb);
DECLARE_string(log_prealloc_mb);
DECLARE_string(log_records);
DECLARE_uint32(logs_per_commit);
DECLARE_bool(overwrite);
DECLARE_uint32(pipeline_depth);
DECLARE_string(placement);
DECLARE_string(range);
DECLARE_string(rate);
DECLARE_double(read_mb_s);
DECLARE_string(record);
DECLARE_string(record_bytes);
DECLARE_string(replay);
DECLARE_uint64(rounds);
DECLARE_double(seconds);
DECLARE_uint64(seed);
DECLARE_uint32(sockets);
DECLARE_uint64(stripe_kb);
DECLARE_string(primitive);
DECLARE_string(sync);
DECLARE_uint64(sync_every);
DECLARE_uint32(threads);
DECLARE_string(timeline);
DECLARE_string(topology);
DECLARE_uint64(transactions);
DECLARE_bool(verify);
DECLARE_string(wal_dir);
DECLARE_string(warmup);
DECLARE_string(worker_class);
DECLARE_string(workload);

namespace logjam {

struct WarmUp {
  double seconds = 0;
  double most_seconds = 0;  // 0: the warm-up lasts `seconds`
};
// Returns the times of --warmup. A run of --transactions has no warm-up.
WarmUp warm_up();

// A set of commands, one bit each.
using Commands = unsigned;
inline constexpr Commands kRun = 1, kRecover = 2, kMicro = 4, kDump = 8, kMachine = 16, kList = 32,
                          kHelp = 64, kTrim = 128, kExplore = 256, kDevice = 512,
                          kAllCommands = 1023;

struct CommandInfo {
  Commands command;  // one bit
  std::string_view name, does;
  int (*run)();  // returns the exit status; nullptr if the command takes words after its name
};
// Returns all commands, in the order of the help.
std::span<const CommandInfo> all_commands();
// Returns the command with the name `name`, or 0 if there is none.
Commands command_named(std::string_view name);
std::vector<std::string_view> command_names(Commands commands = kAllCommands);
// Returns the names of the commands, as "run, micro and list".
std::string names_of(Commands commands);

// Flags that one heading of the help shows together.
struct FlagGroup {
  // Returns why the flag's value is refused, or an empty text.
  using Check = std::string (*)();
  struct Entry {
    std::string_view name;
    Commands commands;
    Check check;  // nullptr: every value of the type is accepted
  };
  std::string_view heading;
  std::vector<Entry> flags;
};
std::span<const FlagGroup> flag_groups();

// Returns all flags of the program, without the flags of its libraries.
std::vector<gflags::CommandLineFlagInfo> own_flags();
// Returns the commands that accept a flag, or 0 if the table and the flag's directory name none.
Commands commands_of(const gflags::CommandLineFlagInfo& flag);

// Refuses each given flag that the command does not accept, also if a flag file has given it.
void refuse_misplaced_flags(Commands command);
// Refuses flag values that cannot be used, whatever values the other flags have.
void refuse_bad_values(Commands command);

// Returns the flag's value as text. A number has its shortest form.
std::string value_of(const gflags::CommandLineFlagInfo& flag);
// Returns the flags that were given, as "--a=b --c=d", for an output row.
std::string changed_flags();

// Refuses unknown flags, missing values, and values that are not of the flag's type, on the command
// line and in flag files. The refusal of an unknown flag names the most similar flag. Sets no flag.
// `arguments` begin after the program's name. Call it before gflags reads the arguments, because
// gflags prints another message and exits with another status.
void refuse_bad_flags(const std::vector<std::string>& arguments);

// Returns a line about each command.
std::string overview();
// Returns a line about each of the command's most used flags. The lines fit on one screen.
std::string help_of(Commands command);
// Returns the whole texts of a command's flags under headings: flag_groups(), each log scheme, each
// workload, flags_of_libraries(). A flag belongs to the scheme or workload whose file defines it.
std::string full_help_of(Commands command);

// Returns the flags of the libraries gflags and glog that are useful here.
std::span<const std::string_view> flags_of_libraries();

// The words by which other benchmarks name the setting of a flag of logjam.
struct FieldWords {
  std::string_view flag;   // such as "threads", or "range=count:N" for a key of a list
  std::string_view words;  // in small letters
};
std::span<const FieldWords> field_words();

// Returns each FieldWords::flag for which `name` may stand, the most likely flag first.
std::vector<std::string_view> meant_by(std::string_view name);

}  // namespace logjam
