// The subcommands. Each returns the process's exit status.
#pragma once

#include <string>
#include <vector>

namespace logjam {

int run_command();
int recover_command();
int micro_command();
int dump_command();
// `what`: empty for all, or schemes, protocols, workloads, devices.
int list_command(const std::string& what);

}  // namespace logjam
