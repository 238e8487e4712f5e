// logjam run | recover | micro | dump | machine | list | help
#include <gflags/gflags.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/flag_text.h"
#include "cli/help.h"
#include "cli/revision.h"
#include "cli/row_files.h"
#include "cli/settings.h"
#include "platform/fatal.h"

DECLARE_bool(help);

namespace {

constexpr char kUsage[] =
    "logjam run      load, warm up, measure, drain, verify; print a summary; append a row\n"
    "logjam recover  rebuild from --wal_dir, verify, print time, GB/s, records, cut; append a row\n"
    "logjam micro    log-insert micro-benchmark, no engine: threads x record size x skew\n"
    "logjam dump     print the records of --wal_dir as text, or how transactions depend on others\n"
    "logjam machine  measure this machine; write the profile of it that a simulated one takes\n"
    "logjam list     [schemes|protocols|workloads|variants|devices|machine|placement]\n"
    "logjam help     the flags, as --help does behind any command\n"
    "\n"
    "--flagfile=FILE reads flags from a file.";

// `logjam list --json schemes`: gflags would take the next argument for the flag's value.
void let_json_stand_alone(int argc, char** argv) {
  static char to_stdout[] = "--json=-";
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--json" || std::string_view(argv[i]) == "-json") {
      argv[i] = to_stdout;
    }
  }
}

int print_help() {
  FLAGS_help = false;  // it is shown like any other flag
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  std::printf("%s\n%s", kUsage, logjam::describe_flags(flags).c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  using logjam::platform::refuse;
  logjam::start_diagnostics(argv[0]);
  gflags::SetUsageMessage(kUsage);
  gflags::SetVersionString(logjam::revision());
  let_json_stand_alone(argc, argv);
  logjam::refuse_bad_flags(std::vector<std::string>(argv + 1, argv + argc));
  gflags::ParseCommandLineNonHelpFlags(&argc, &argv, true);
  if (FLAGS_help) return print_help();
  gflags::HandleCommandLineHelpFlags();  // --version, --helpmatch and the others of gflags

  if (argc < 2) {
    std::fprintf(stderr, "%s\n", kUsage);
    return logjam::platform::kExitBadInput;
  }
  const std::string command = argv[1];
  logjam::reserve_stdout_for_json();
  if (command == "list" && argc <= 3) return logjam::list_command(argc == 3 ? argv[2] : "");
  if (argc > 2) refuse("\"" + std::string(argv[2]) + "\" is not a flag; flags begin with --");
  if (command == "help") return print_help();
  if (command == "run") return logjam::run_command();
  if (command == "recover") return logjam::recover_command();
  if (command == "micro") return logjam::micro_command();
  if (command == "dump") return logjam::dump_command();
  if (command == "machine") return logjam::machine_command();
  refuse("\"" + command +
         "\" is not a command; run, recover, micro, dump, machine, list and help are");
}
