// The part of the machine that the kernel lets this process use: as much as every cgroup around it
// and its own resource limits allow. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <string>

#include "platform/kernel_files.h"

namespace logjam::platform {

struct Limit {
  double amount;
  std::string by;  // the source of the limit, for a sentence; empty: the machine
};

// Returns how many more bytes the process can get; infinity if there is no limit. The result is the
// least of the memory that the machine can give without swapping (MemAvailable), the unused part of
// each cgroup around the process, RLIMIT_AS and RLIMIT_DATA. A cgroup's inactive pages of files
// count as unused: the kernel takes them back.
Limit memory_left(const KernelFiles& kernel = {});

// Returns how many processors the process may use on average under the quotas of its cgroups;
// infinity without a quota. (this_machine() has the set of cores.)
Limit processor_quota(const KernelFiles& kernel = {});

// Returns, as text, the limit for memory that the kernel may not swap out (RLIMIT_MEMLOCK).
std::string locked_memory_limit();

// Returns "tmpfs" or "ramfs" if the file system of `path` is in memory, else an empty text.
std::string memory_file_system(const std::string& path);

}  // namespace logjam::platform
