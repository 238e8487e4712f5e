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
int device_command();
int trim_command();
// Explores. `words` are play=FILE (a recorded schedule, to play again), record=FILE (for the
// schedule of what is found) and blocks=FILE (the blocks that were reached, to which it adds).
int explore_command(const std::vector<std::string>& words);
// Lists schemes, protocols, workloads, variants or devices, as `what` says; all five if `what` is
// empty.
int list_command(const std::string& what);

}  // namespace logjam
