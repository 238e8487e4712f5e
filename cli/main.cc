// logjam run | recover | micro | dump | trim | explore | machine | device | list | help
#include <gflags/gflags.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/row.h"
#include "platform/fatal.h"
#include "platform/nearest_name.h"
#include "platform/output_file.h"

DECLARE_bool(help);

namespace {

using namespace logjam;
using platform::refuse;

// Adds a value to each flag that needs none, such as --json in `logjam list --json schemes`,
// because gflags would use the next argument as the value. Returns whether --help=all is given.
bool complete_flags(int argc, char** argv) {
  static char to_stdout[] = "--json=-", at_end[] = "--checkpoint=end", help[] = "--help";
  bool all = false;
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (argument.starts_with("--")) argument.remove_prefix(1);
    if (argument == "-json") argv[i] = to_stdout;
    if (argument == "-checkpoint") argv[i] = at_end;
    if (argument != "-help=all") continue;
    argv[i] = help;
    all = true;
  }
  return all;
}

int print_help(Commands command, bool all) {
  const std::string text = command == 0 ? overview()
                           : all        ? full_help_of(command)
                                        : help_of(command);
  std::fputs(text.c_str(), stdout);
  return 0;
}

Commands command_or_refuse(const std::string& name) {
  if (const Commands command = command_named(name); command != 0) return command;
  refuse("\"" + name + "\" is not a command" + platform::instead_of(name, command_names()));
}

// Ends the process with an error message if output to stdout was lost. It is called by exit(),
// because gflags may end the process too.
void end_of_stdout(int status, void*) {
  const std::string why = platform::lost_stdout();
  if (why.empty()) return;
  platform::fatal(why, status == 0 ? platform::kExitFailed : status);
}

int execute(int argc, char** argv) {
  gflags::SetVersionString(version() + " revision " + revision());
  const bool all = complete_flags(argc, argv);
  refuse_bad_flags(std::vector<std::string>(argv + 1, argv + argc));
  gflags::ParseCommandLineNonHelpFlags(&argc, &argv, true);
  if (FLAGS_help) return print_help(argc < 2 ? 0 : command_or_refuse(argv[1]), all);
  gflags::HandleCommandLineHelpFlags();  // handles gflags' own flags, such as --version

  if (argc < 2) {
    std::fputs(overview().c_str(), stderr);
    return platform::kExitBadInput;
  }
  const Commands command = command_or_refuse(argv[1]);
  const std::vector<std::string> words(argv + 2, argv + argc);
  const size_t most_words = command == kExplore
                                ? words.size()
                                : command == kList || command == kHelp || command == kMachine;
  if (words.size() > most_words) {
    refuse("\"" + words.back() + "\" is not a flag; flags begin with --");
  }
  refuse_misplaced_flags(command);
  refuse_bad_values(command);
  output_files().reserve_stdout();
  const CommandInfo& info = *std::ranges::find(all_commands(), command, &CommandInfo::command);
  if (info.run != nullptr) return info.run();
  if (command == kExplore) return explore_command(words);
  const std::string topic = words.empty() ? "" : words[0];
  if (command == kList) return list_command(topic);
  if (command == kMachine) return machine_command(topic);
  if (topic != "columns") return print_help(topic.empty() ? 0 : command_or_refuse(topic), false);
  std::fputs(column_table().c_str(), stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  start_diagnostics(argv[0]);
  on_exit(end_of_stdout, nullptr);
  try {
    return execute(argc, argv);
  } catch (const platform::CommandError& error) {
    remove_claims();
    platform::fatal(error.what(), error.exit_code());
  }
}
