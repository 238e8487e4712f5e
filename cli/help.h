// What `logjam help` and `logjam --help` print of the flags.
#pragma once

#include <gflags/gflags.h>

#include <string>
#include <vector>

namespace logjam {

// The flags as text, in groups under one heading each: first a group for each of this program's
// files that defines flags (the commands', the log schemes', the workloads'), then a group for each
// library. A file is the program's if its path begins with one of the program's directories, so a
// new scheme or workload has its group without being listed anywhere.
std::string describe_flags(const std::vector<gflags::CommandLineFlagInfo>& flags);

}  // namespace logjam
