// logjam run | recover | micro | dump | list
#include <gflags/gflags.h>

#include <cstdio>
#include <string>

#include "cli/commands.h"
#include "cli/revision.h"
#include "cli/settings.h"
#include "platform/fatal.h"

namespace {

constexpr char kUsage[] =
    "logjam run      load, warm up, measure, drain, verify; print a summary; append a CSV row\n"
    "logjam recover  rebuild from --log_dir, verify, print time, GB/s, records and the cut\n"
    "logjam micro    log-insert micro-benchmark, no engine: threads x record size x skew\n"
    "logjam dump     print the records of --log_dir as text\n"
    "logjam list     schemes, protocols, workloads, devices [schemes|protocols|workloads|devices]\n"
    "\n"
    "logjam --help prints the flags; --flagfile=FILE reads them from a file.";

}  // namespace

int main(int argc, char** argv) {
  using logjam::platform::refuse;
  gflags::SetUsageMessage(kUsage);
  gflags::SetVersionString(logjam::revision());
  logjam::refuse_unknown_flags(argc, argv);
  gflags::ParseCommandLineFlags(&argc, &argv, true);

  if (argc < 2) {
    std::fprintf(stderr, "%s\n", kUsage);
    return logjam::platform::kExitBadInput;
  }
  const std::string command = argv[1];
  if (command == "list" && argc <= 3) return logjam::list_command(argc == 3 ? argv[2] : "");
  if (argc > 2) refuse("\"" + std::string(argv[2]) + "\" is not a flag; flags begin with --");
  if (command == "run") return logjam::run_command();
  if (command == "recover") return logjam::recover_command();
  if (command == "micro") return logjam::micro_command();
  if (command == "dump") return logjam::dump_command();
  refuse("\"" + command + "\" is not a command; run, recover, micro, dump and list are");
}
