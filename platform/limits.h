// The part of the machine that the kernel lets this process use: as much as every cgroup around it
// and its own resource limits allow. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <string>

#include "platform/kernel_files.h"

namespace logjam::platform {

struct Limit {
  double amount;
  std::string by;  // what sets it, for a sentence; empty: the machine itself
};

// Returns how many more bytes the process can get, infinity if nothing says so: the least of what
// the machine can give without swapping (MemAvailable), of what each cgroup from the process's own
// up to the root allows beyond its use, and of RLIMIT_AS and RLIMIT_DATA. The kernel takes a
// cgroup's inactive pages of files back, so these are not in use.
Limit memory_left(const KernelFiles& kernel = {});

// Returns how many processors the process may use at once on average, by the quota of each cgroup
// from its own up to the root; infinity without a quota. (The set of cores is this_machine()'s.)
Limit processor_quota(const KernelFiles& kernel = {});

// Returns the limit for memory that the kernel may not swap out (RLIMIT_MEMLOCK), for a sentence.
std::string locked_memory_limit();

// Returns the name of the file system of `path` if it keeps its files in memory, "tmpfs" or
// "ramfs"; else an empty text.
std::string memory_file_system(const std::string& path);

}  // namespace logjam::platform
