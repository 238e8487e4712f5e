// The subcommands of logjam. Each returns the exit status of the process, and runs on the main
// thread.
#pragma once

#include <string>
#include <vector>

namespace logjam {

int run_command();
int recover_command();
int micro_command();
int dump_command();
int machine_command();
// `what` is schemes, protocols, workloads, variants or devices; empty lists all five. Or it is
// machine or placement: what this machine has, and which contexts workers get.
int list_command(const std::string& what);

}  // namespace logjam
